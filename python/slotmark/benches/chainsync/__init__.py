"""The chainsync bench: real client libraries follow a real chain at full speed."""
