-- The facts of a run that published manifests show and that follow from its tables, in their order: ``text``, or ``number`` with so many decimals.
WITH lines AS (
    SELECT host, SUM(lines) AS emitted FROM trace_frequencies GROUP BY host
),

times AS (
    SELECT
        hosts.host,
        hosts.kept,
        COALESCE(lines.emitted, 0) AS emitted,
        hosts.first_ts_ns,
        hosts.last_ts_ns,
        CAST(hosts.last_ts_ns - hosts.first_ts_ns AS DOUBLE) / 1e9 AS span_s
    FROM hosts
    LEFT JOIN lines ON lines.host = hosts.host
    WHERE hosts.first_ts_ns IS NOT NULL
),

counted AS (
    SELECT host, MIN(slot) AS first_slot, MAX(slot) AS last_slot FROM slots WHERE counts GROUP BY host
),

asked AS (
    SELECT COUNT(*) AS filters, STRING_AGG(name, ', ' ORDER BY place) AS names FROM filters WHERE tag <> 'complete'
),

found AS (
    SELECT
        (SELECT COUNT(*) FROM hosts) AS hosts,
        AVG(emitted) AS emitted,
        AVG(kept) AS kept,
        AVG(span_s) AS span_s,
        AVG(CASE WHEN span_s >= 1 THEN emitted / FLOOR(span_s) END) AS rate_hz,
        SUM(kept) AS all_kept,
        COALESCE(ROUND(CAST(MAX(last_ts_ns) - MIN(first_ts_ns) AS DOUBLE) / 1e9), 0) AS run_s,
        CAST(MAX(first_ts_ns) - MIN(first_ts_ns) AS DOUBLE) / 1e9 AS start_spread_s,
        CAST(MAX(last_ts_ns) - MIN(last_ts_ns) AS DOUBLE) / 1e9 AS stop_spread_s,
        COALESCE((SELECT (MAX(last_slot) - MIN(first_slot)) * MAX(genesis.slot_ns) / 1e9 FROM counted CROSS JOIN genesis), 0) AS analysed_s,
        (SELECT FLOOR(AVG(last_slot - first_slot)) FROM counted) AS slots,
        (SELECT COUNT(*) FROM blocks WHERE accepted) AS blocks,
        (SELECT COUNT(*) FROM blocks WHERE NOT accepted) AS rejected
    FROM times
),

facts AS (
    SELECT UNNEST([
        {'place': 1, 'name': 'machines', 'number': CAST(hosts AS DOUBLE), 'text': NULL, 'decimals': 0},
        {'place': 2, 'name': 'filters applied', 'number': filters, 'text': NULL, 'decimals': 0},
        {'place': 3, 'name': 'filters', 'number': NULL, 'text': COALESCE(names, 'none'), 'decimals': 0},
        {'place': 4, 'name': 'log objects emitted per host', 'number': COALESCE(emitted, 0), 'text': NULL, 'decimals': 1},
        {'place': 5, 'name': 'log objects analysed per host', 'number': COALESCE(kept, 0), 'text': NULL, 'decimals': 1},
        {'place': 6, 'name': 'host run time, s', 'number': COALESCE(span_s, 0), 'text': NULL, 'decimals': 1},
        {'place': 7, 'name': 'host log line rate, Hz', 'number': COALESCE(rate_hz, 0), 'text': NULL, 'decimals': 2},
        {'place': 8, 'name': 'total log objects analysed', 'number': COALESCE(all_kept, 0), 'text': NULL, 'decimals': 0},
        {'place': 9, 'name': 'run time, s', 'number': run_s, 'text': NULL, 'decimals': 0},
        {'place': 10, 'name': 'analysed run duration, s', 'number': analysed_s, 'text': NULL, 'decimals': 0},
        {'place': 11, 'name': 'run time efficiency', 'number': analysed_s / NULLIF(run_s, 0), 'text': NULL, 'decimals': 2},
        {'place': 12, 'name': 'node start spread, s', 'number': COALESCE(start_spread_s, 0), 'text': NULL, 'decimals': 4},
        {'place': 13, 'name': 'node stop spread, s', 'number': COALESCE(stop_spread_s, 0), 'text': NULL, 'decimals': 4},
        {'place': 14, 'name': 'slots analysed', 'number': COALESCE(slots, 0), 'text': NULL, 'decimals': 0},
        {'place': 15, 'name': 'blocks analysed', 'number': blocks, 'text': NULL, 'decimals': 0},
        {'place': 16, 'name': 'blocks rejected', 'number': rejected, 'text': NULL, 'decimals': 0}
    ]) AS fact
    FROM found
    CROSS JOIN asked
)

SELECT fact.place, fact.name, fact.number, fact.text, fact.decimals FROM facts
