"""What turns a document into a form: a module per form. Each neutralises text that comes from data, once."""
