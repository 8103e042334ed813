"""Doubts about what an analysis rests on: blocks that were dropped, counters that restarted."""

from slotmark import warnings
from slotmark.metrics.samples import Analysis
from slotmark.warnings import Warning


def doubts_of_analysis(analysis: Analysis) -> list[Warning]:
    """What a reader should know about the chain and the hosts that were analysed; none for benches without relations."""
    if "blocks" not in analysis.catalogue.relations:
        return []
    found = []
    facts = analysis.query(
        "SELECT COUNT(*) AS chained, COUNT(*) FILTER (accepted) AS accepted,"
        " COUNT(*) FILTER (rejected_by LIKE 'complete in%') AS incomplete FROM blocks"
    ).to_pylist()[0]
    if facts["accepted"] == 0:
        found.append(warnings.no_blocks(facts["chained"], [str(one) for one in analysis.filters]))
    if facts["incomplete"]:
        found.append(warnings.incomplete_blocks(facts["incomplete"], facts["chained"]))
    restarted = analysis.query("SELECT DISTINCT host FROM usage WHERE was_reset ORDER BY host")["host"].to_pylist()
    if restarted:
        found.append(warnings.counters_restarted(restarted))
    return found
