"""Renderers: each module turns a document into one form. It neutralises text that comes from data, once."""
