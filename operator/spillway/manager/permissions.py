"""What the manager may do: the list that the roles of the chart are compared with."""

from __future__ import annotations

from spillway.manager.kinds import OWN_PERMISSIONS, PERMISSIONS, Permission

__all__ = ["OWN_PERMISSIONS", "PERMISSIONS", "Permission"]
