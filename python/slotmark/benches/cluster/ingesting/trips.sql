-- One row per host that sends, one that receives, and a block: how long its header, the request of it and the block itself were on their way, from
-- the sender's clock to the receiver's, in ns; null where one of the two didn't log it. A message goes from announcing a header to noticing it, from
-- requesting a block to sending it, and from sending it to having fetched it.
SELECT
    sent.host AS sender,
    sent.peer AS receiver,
    sent.announced_ns,
    sent.requested_ns,
    got.noticed_ns - sent.announced_ns AS header_ns,
    got.sending_ns - sent.requested_ns AS request_ns,
    got.fetched_ns - sent.sending_ns AS body_ns
FROM sightings AS sent
INNER JOIN sightings AS got ON got.host = sent.peer AND got.peer = sent.host AND got.block = sent.block
