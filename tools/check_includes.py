"""The layers of cpp/include/treedgp: a header includes only its own layer and those before it."""

import re
import sys
from pathlib import Path

LAYERS = [
    {"rng", "linalg"},
    {"kernel", "tree"},
    {"prior"},
    {"leaf"},
    {"state"},
    {"moves"},
    {"latent"},
    {"round", "predict"},
]
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}
ROOT = Path(__file__).parent.parent / "cpp" / "include" / "treedgp"

problems = []
for header in sorted(ROOT.rglob("*.hpp")):
    folder = header.parent.name
    for included in re.findall(r'#include "treedgp/(\w+)/', header.read_text()):
        if RANK[included] > RANK[folder] or (RANK[included] == RANK[folder] and included != folder):
            problems.append(f"{header.relative_to(ROOT)} includes the layer {included}/, which comes after {folder}/")
if problems:
    sys.exit("\n".join(problems))
print(f"{sum(1 for _ in ROOT.rglob('*.hpp'))} headers respect the layers")
