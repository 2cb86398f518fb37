"""Connected components, compiled on first use and kept in numba's cache.

Imported only when needed.
"""

from __future__ import annotations

from typing import Any

from pinvlearn._core.jit import compiled


@compiled(inline="always")
def _root(parent: Any, j: int) -> int:
    """The column that stands for the set of column j; the way there becomes shorter."""
    while parent[j] != j:
        parent[j] = parent[parent[j]]
        j = parent[j]
    return j


@compiled()
def components(
    start: Any, end: Any, neighbours: Any, rows: Any, alive: Any,
    degrees: Any, row_labels: Any, column_labels: Any, parent: Any, numbers: Any,
) -> None:  # fmt: skip
    """Components of the given rows and the columns alive, numbered from the lowest row on.

    The columns of row i are those at start[i] … end[i] - 1.  The dead among them are dropped from
    the list, so that no later call reads them again; `degrees` counts the rows of each column.

    Each row joins the sets of its columns: one sequential pass over the entries.
    """
    for j in range(len(parent)):
        parent[j] = j
        numbers[j] = -1
        degrees[j] = 0
    for i in rows:
        kept, first = start[i], -1
        for p in range(start[i], end[i]):
            j = neighbours[p]
            if alive[j]:
                neighbours[kept] = j
                kept += 1
                degrees[j] += 1
                if parent[j] == first:
                    continue
                root = _root(parent, j)
                if first >= 0 and root != first:
                    parent[max(root, first)] = min(root, first)
                    root = min(root, first)
                first = root
        end[i] = kept
    count = 0
    for i in rows:
        if start[i] == end[i]:
            row_labels[i] = count
            count += 1
            continue
        root = _root(parent, neighbours[start[i]])
        if numbers[root] < 0:
            numbers[root] = count
            count += 1
        row_labels[i] = numbers[root]
    for j in range(len(parent)):
        if alive[j]:
            root = _root(parent, j)
            if numbers[root] < 0:
                numbers[root] = count
                count += 1
            column_labels[j] = numbers[root]
