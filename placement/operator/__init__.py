"""What operators ask about a cloud, as data: no output, no arguments. Used by the commands of `placement.cmd`.

    flavor     the query that nova sends for a flavor
    explain    why a query has no candidates: `funnel` counts what each of its conditions leaves over, `reasons` says
               what is missing at one host
    forecast   how many more of a request fit, and what runs out first
    trees      provider trees with inventory, usage, traits and aggregates
    consumers  who holds what
    audit      what is wrong or untidy in the database; `fixes` mends what is safe to mend

Everything runs in one read transaction that the caller gives; candidates are judged by the solver itself.
"""
