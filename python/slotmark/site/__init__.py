"""A store as static pages: what changed, every metric over versions, every run."""

from slotmark.site.pages import Settings, pages
from slotmark.site.writing import Written, write_site

__all__ = ["Settings", "Written", "pages", "write_site"]
