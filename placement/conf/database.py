"""[placement_database]: where the data live, and how connections are made and kept."""

from oslo_config import cfg

GROUP = cfg.OptGroup('placement_database', title='Database')

OPTS = [
    cfg.StrOpt(
        'connection',
        required=True,
        secret=True,
        help='The URL of the database, for example mysql+pymysql://user:password@host/placement?charset=utf8mb4 or '
        'sqlite:////var/lib/placement/placement.sqlite.',
    ),
    cfg.StrOpt(
        'connection_parameters',
        default='',
        help='More parameters of the URL, as name=value&name=value; they are appended to `connection`.',
    ),
    cfg.BoolOpt(
        'sqlite_synchronous',
        default=True,
        help='SQLite only: wait until the disk has the data before a transaction counts as committed.',
    ),
    cfg.StrOpt(
        'slave_connection',
        secret=True,
        help='The URL of a read-only replica. Kept so that existing files stay valid: all queries go to `connection`.',
    ),
    cfg.StrOpt(
        'mysql_sql_mode',
        default='TRADITIONAL',
        help='MySQL and MariaDB only: the SQL mode of each session. Keep a strict one, or values that do not fit are '
        'cut silently. An empty value means the empty mode.',
    ),
    cfg.IntOpt(
        'connection_recycle_time',
        default=3600,
        help='Replace connections of the pool that are older than this, in seconds. Keep it below the time after which '
        'the server, or anything between, drops idle connections.',
    ),
    cfg.IntOpt(
        'max_pool_size',
        help='The number of connections that a process keeps open. Unset means 5. Pool and overflow together should be '
        'no smaller than the number of threads.',
    ),
    cfg.IntOpt(
        'max_retries',
        default=10,
        help='How many more attempts placement-manage and placement-status make when the database does not answer. -1 '
        'means for ever. The service itself starts without its database, and serves as soon as it is there.',
    ),
    cfg.IntOpt('retry_interval', default=10, help='The pause between two of these attempts, in seconds.'),
    cfg.IntOpt(
        'max_overflow',
        min=-1,
        help='The number of connections that a process may open beyond max_pool_size when it is busy. Unset means 10, '
        '-1 means any number.',
    ),
    cfg.IntOpt(
        'connection_debug',
        default=0,
        help='How much of the SQL to log: below 50 nothing, from 50 the statements, at 100 also the rows.',
    ),
    cfg.BoolOpt(
        'connection_trace',
        default=False,
        help='Add the calling code as a comment to each SQL statement, for the log of the database server.',
    ),
    cfg.IntOpt(
        'pool_timeout',
        help='How long a request waits for a free connection of the pool, in seconds. Unset means 30.',
    ),
    cfg.BoolOpt(
        'sync_on_startup',
        default=False,
        help='Bring the schema to the newest revision when the service starts. Any number of processes may start at '
        'once: one migrates, the others wait for it.',
    ),
]
