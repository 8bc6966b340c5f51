"""The statements that a store sends, counted."""

from sqlalchemy import event


class Statements:
    """Counts the statements that a store sends, transactions apart."""

    def __init__(self, store):
        self.store, self.texts = store, []

    def __enter__(self):
        event.listen(self.store.engine, "before_cursor_execute", self._note)
        return self.texts

    def __exit__(self, *_):
        event.remove(self.store.engine, "before_cursor_execute", self._note)

    def _note(self, connection, cursor, statement, *_):
        if not statement.startswith(("BEGIN", "PRAGMA", "SELECT pg_catalog")):
            self.texts.append(statement)
