"""The loops behind content selection, compiled: comparing sets of boxes, and the greedy walk of the bigram prior.

Both run as plain Python too; nothing in them can overflow.
"""

import numpy as np

from evaluation.arrays import Flags, Floats, Ints
from evaluation.compiled import compiled


@compiled
def compare_boxes(
    selected: Ints,
    selected_starts: Ints,
    image_of: Ints,
    left_out: Ints,
    boxes: Ints,
    box_starts: Ints,
    image_starts: Ints,
    precision: Floats,
    recall: Floats,
) -> None:
    """WG15 eq. 1 and 2 for every selection, written into `precision` and `recall` (selections,) float64.

    `selected` holds the boxes of selection s at selected_starts[s] .. selected_starts[s + 1], ascending;
    `boxes` those of description d likewise; image i has the descriptions image_starts[i] ..
    image_starts[i + 1]. Selection s is of image image_of[s] and is not compared with description
    left_out[s] (-1: with all). nan where there is nothing to divide by.
    """
    for s in range(image_of.size):
        size = selected_starts[s + 1] - selected_starts[s]
        image = image_of[s]
        hits_of_all = 0
        compared = 0
        shares = 0.0
        naming = 0
        for d in range(image_starts[image], image_starts[image + 1]):
            if d == left_out[s]:
                continue
            hits = 0
            i, j = selected_starts[s], box_starts[d]
            while i < selected_starts[s + 1] and j < box_starts[d + 1]:
                if selected[i] == boxes[j]:
                    hits += 1
                    i += 1
                    j += 1
                elif selected[i] < boxes[j]:
                    i += 1
                else:
                    j += 1
            hits_of_all += hits
            compared += 1
            length = box_starts[d + 1] - box_starts[d]
            if length > 0:
                shares += hits / length
                naming += 1
        precision[s] = hits_of_all / (compared * size) if compared > 0 and size > 0 else np.nan
        recall[s] = shares / naming if naming > 0 else np.nan


@compiled
def walk_greedily(
    labels: Ints,
    starts: Ints,
    places: Ints,
    first: Ints,
    row_starts: Ints,
    columns: Ints,
    counts: Ints,
    ranks: Floats,
    selects: Flags,
) -> None:
    """WG15 section 4.2, the bigram prior: the likeliest first label, then the likeliest to follow, and so on.

    `labels` (boxes,) number the boxes' labels, -1 where the prior does not know one; image i has the boxes
    starts[i] .. starts[i + 1]. `places` (boxes,) order the boxes that share a label. `first` (labels,)
    counts how often a label opens a description; row l of the matrix (`row_starts`, `columns`, `counts`,
    columns ascending) how often each label follows label l. Writes `ranks` (boxes,) from 1 on and `selects`
    (boxes,); what the walk does not reach is left alone.
    """
    for image in range(starts.size - 1):
        previous = -1
        for rank in range(1, starts[image + 1] - starts[image] + 1):
            best, best_count = -1, 0
            for box in range(starts[image], starts[image + 1]):
                label = labels[box]
                if selects[box] or label < 0:
                    continue
                if previous < 0:
                    count = first[label]
                else:
                    low, high = row_starts[previous], row_starts[previous + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if columns[middle] < label:
                            low = middle + 1
                        else:
                            high = middle
                    found = low < row_starts[previous + 1] and columns[low] == label
                    count = counts[low] if found else 0
                if count > best_count or (count == best_count and count > 0 and places[box] < places[best]):
                    best, best_count = box, count
            if best < 0:
                break
            ranks[best] = rank
            selects[best] = True
            previous = labels[best]
