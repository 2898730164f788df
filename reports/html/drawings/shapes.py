"""A shape of its own for each state of a rank: drawings must read without colour."""

STATES = ("ok", "ended", "waiting", "suspect", "dead", "culprit", "no_data")  # as painted, the telling ones last


def shape(state: str) -> str:
    """The mark of one state alone, for the legend."""
    return cell(state, 1, 1, 12)


def cell(state: str, x: int, y: int, size: int) -> str:
    """The mark of a state as a path, `size` wide and high."""
    half, third = size // 2, max(1, size // 3)
    match state:
        case "culprit":  # full square with a hole
            hole = f"m{third} {third}v{size - 2 * third}h{size - 2 * third}v-{size - 2 * third}z"
            return f"M{x} {y}h{size}v{size}h-{size}z{hole if size > 2 * third else ''}"
        case "suspect":  # triangle
            return f"M{x + half} {y}l{half} {size}h-{2 * half}z"
        case "dead":  # cross
            arm = size - 2
            falling = f"M{x} {y}h2l{arm} {arm}v2h-2l-{arm}-{arm}z"
            return f"{falling}M{x + size} {y}v2l-{arm} {arm}h-2v-2l{arm}-{arm}z"
        case "waiting":  # the lower part
            return f"M{x} {y + third}h{size}v{size - third}h-{size}z"
        case "ended":  # the lower left half
            return f"M{x} {y}v{size}h{size}z"
        case "no_data":  # hollow
            inner = size - 2
            return f"M{x} {y}h{size}v{size}h-{size}zm1 1v{inner}h{inner}v-{inner}z"
    return f"M{x} {y}h{size}v{size}h-{size}z"
