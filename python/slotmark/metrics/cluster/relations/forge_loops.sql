-- One row per host: whether its log has the starts of its forge loop, so that a slot without one was missed. A host that has neither starts nor
-- decisions in its whole log is taken for one without a forge loop, as a relay, where another host has starts, and else for one whose loop doesn't run.
SELECT host, COALESCE(has_starts, (SELECT COUNT(*) FILTER (has_starts) = 0 FROM spans)) AS has_starts
FROM spans
