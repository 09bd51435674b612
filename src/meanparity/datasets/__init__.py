"""Bundled and downloaded data sets, and the generator of the paper's synthetic data."""

from meanparity.datasets._adult import load_adult
from meanparity.datasets._communities_crime import load_communities_crime
from meanparity.datasets._fetched import fetch_file
from meanparity.datasets._law_school import fetch_law_school
from meanparity.datasets._synthetic import make_synthetic

__all__ = [
    "fetch_file",
    "fetch_law_school",
    "load_adult",
    "load_communities_crime",
    "make_synthetic",
]
