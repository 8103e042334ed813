"""The facts of a cluster run that published manifests show and that follow from its tables."""

from slotmark.metrics.samples import Analysis

_FACTS = """
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
)

SELECT
    (SELECT COUNT(*) FROM hosts) AS hosts,
    AVG(emitted) AS emitted,
    AVG(kept) AS kept,
    AVG(span_s) AS span_s,
    AVG(CASE WHEN span_s >= 1 THEN emitted / FLOOR(span_s) END) AS rate_hz,
    SUM(kept) AS all_kept,
    ROUND(CAST(MAX(last_ts_ns) - MIN(first_ts_ns) AS DOUBLE) / 1e9) AS run_s,
    CAST(MAX(first_ts_ns) - MIN(first_ts_ns) AS DOUBLE) / 1e9 AS start_spread_s,
    CAST(MAX(last_ts_ns) - MIN(last_ts_ns) AS DOUBLE) / 1e9 AS stop_spread_s,
    (SELECT (MAX(last_slot) - MIN(first_slot)) * MAX(genesis.slot_ns) / 1e9 FROM counted CROSS JOIN genesis) AS analysed_s,
    (SELECT FLOOR(AVG(last_slot - first_slot)) FROM counted) AS slots,
    (SELECT COUNT(*) FROM blocks WHERE accepted) AS blocks,
    (SELECT COUNT(*) FROM blocks WHERE NOT accepted) AS rejected
FROM times
"""


def facts_of_analysis(analysis: Analysis) -> list[tuple[str, str]]:
    """Names and values in the order of the published manifests; none for benches other than the cluster."""
    if analysis.run.manifest.bench != "cluster":
        return []
    found = analysis.query(_FACTS).to_pylist()[0]
    analysed, run = found["analysed_s"] or 0.0, found["run_s"] or 0.0
    return [
        ("machines", str(found["hosts"])),
        ("filters applied", str(len(analysis.filters))),
        ("filters", ", ".join(str(one) for one in analysis.filters) or "none"),
        ("log objects emitted per host", f"{found['emitted'] or 0:,.1f}"),
        ("log objects analysed per host", f"{found['kept'] or 0:,.1f}"),
        ("host run time, s", f"{found['span_s'] or 0:,.1f}"),
        ("host log line rate, Hz", f"{found['rate_hz'] or 0:,.2f}"),
        ("total log objects analysed", f"{found['all_kept'] or 0:,}"),
        ("run time, s", f"{run:,.0f}"),
        ("analysed run duration, s", f"{analysed:,.0f}"),
        ("run time efficiency", f"{analysed / run:.2f}" if run else "-"),
        ("node start spread, s", f"{found['start_spread_s'] or 0:.4f}"),
        ("node stop spread, s", f"{found['stop_spread_s'] or 0:.4f}"),
        ("slots analysed", f"{found['slots'] or 0:,.0f}"),
        ("blocks analysed", f"{found['blocks']:,}"),
        ("blocks rejected", f"{found['rejected']:,}"),
    ]
