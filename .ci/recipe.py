"""Renders the recipe of the conda package, which has the name and the version of a wheel: python recipe.py RECIPE WHEEL

Building it needs the channels of conda.
"""

import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

recipe, wheel = sys.argv[1:]
[rendered] = Stage0Recipe.from_file(recipe).render(VariantConfig({"c_stdlib": ["sysroot"]}))
package = rendered.recipe.package
name, version, *_ = Path(wheel).name.split("-")
assert (package.name.replace("-", "_"), str(package.version)) == (name, version), (recipe, wheel)
print(f"{recipe}: {package.name} {package.version}")
