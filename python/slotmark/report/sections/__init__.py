"""The parts of a report, a module for each family: from a comparison to paragraphs, tables and figures."""
