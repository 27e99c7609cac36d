"""Prompts that are longer than the context window lose their middle, as LongBench has it; here in
whole modules."""


def from_both_ends(sizes, room):
    """Which of pieces of these sizes stay where there is room for so much, in order: the next piece
    comes from the end that has less so far, or from the other where it does not fit."""
    front, back = [], []
    left = list(range(len(sizes)))
    while left:
        taken = [sum(sizes[i] for i in side) for side in (front, back)]
        ends = [(front, 0), (back, -1)]
        ends = ends if taken[0] <= taken[1] else ends[::-1]
        side, at = next(((s, k) for s, k in ends if sum(taken) + sizes[left[k]] <= room),
                        (None, None))
        if side is None:
            break
        side.append(left.pop(at))
    return front + back[::-1]
