"""A bipartite matching that is kept up while a search goes on: guests (slots) and hosts (provider rows) of limited
capacity.

`search` holds one for each rule that makes slots compete. As long as it can be completed, the choices made so far are
no dead end as far as that rule is concerned; so a search that is guided by it does not wander through branches
without a candidate.
"""

from collections.abc import Mapping, Sequence


class Matching:
    """Every guest is placed with a host of its domain, no host beyond its capacity. `steps` counts the hosts looked
    at."""

    def __init__(
        self, domains: Mapping[int, Sequence[int]], capacity: Mapping[int, int], rank: Mapping[int, int]
    ) -> None:
        """`domains` by guest; `capacity` by host; `rank` is the order in which the search decides the guests."""
        self._domains = domains
        self._capacity = capacity
        self._rank = rank
        self._host: dict[int, int] = {}
        self._guests: dict[int, set[int]] = {}
        self.steps = 0

    def __contains__(self, guest: int) -> bool:
        return guest in self._domains

    def complete(self) -> bool:
        """Place all guests; False if that is impossible."""
        return all(self._place(guest, self._domains[guest], -1) for guest in self._domains)

    def move(self, guest: int, host: int) -> bool:
        """Decide that a guest goes to this host; later guests make room if need be. False, with nothing changed, if
        they cannot.

        Guests of lower rank are decided already and stay where they are.
        """
        before = self._host.get(guest)
        if before == host:
            return True
        if before is not None:
            self._guests[before].discard(guest)
        if self._place(guest, (host,), self._rank[guest]):
            return True
        if before is not None:
            self._guests[before].add(guest)
        return False

    def _place(self, guest: int, hosts: Sequence[int], decided: int) -> bool:
        """Find a host for a guest along a shortest augmenting path that moves only guests of a rank above `decided`."""
        # By host, the guest that would move there.
        comers: dict[int, int] = {}
        queue: list[int] = [guest]
        for mover in queue:
            for host in hosts if mover == guest else self._domains[mover]:
                self.steps += 1
                if host in comers:
                    continue
                comers[host] = mover
                guests = self._guests.setdefault(host, set())
                if len(guests) < self._capacity.get(host, 0):
                    self._shift(host, comers, guest)
                    return True
                queue.extend(other for other in sorted(guests) if self._rank[other] > decided and other != guest)
        return False

    def _shift(self, host: int, comers: Mapping[int, int], guest: int) -> None:
        """Move every guest of the path that ends at `host`."""
        while True:
            mover = comers[host]
            before = None if mover == guest else self._host[mover]
            if before is not None:
                self._guests[before].discard(mover)
            self._guests[host].add(mover)
            self._host[mover] = host
            if before is None:
                return
            host = before
