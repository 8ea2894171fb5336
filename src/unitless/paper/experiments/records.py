"""Facts about the paper's six datasets: columns and labels, origin, and the numbers in Table 1.

The digests (see `content.digest`) are those of the whole UCI files, where these were available. For MSD and CT Slice
they were not, so the digest is None: the rows, columns, labels and ranges can be checked, but not each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OUTSIDE = -0.25
"""The value in CT Slice for a bin that lies outside of the image."""


@dataclass(frozen=True)
class Sample:
    """A known part of a dataset, used if the whole is not available."""

    file: str
    rows: int
    note: str
    digest: str


@dataclass(frozen=True)
class Dataset:
    """One of the paper's datasets. `features` are its columns in order, without the label."""

    key: str
    title: str
    citation: str
    doi: str
    task: Literal["binary", "classes", "number"]
    printed_rows: int
    printed_features: int
    printed_scale: tuple[float, float]
    rows: int
    features: tuple[str, ...]
    text_features: tuple[str, ...]
    fractional: tuple[str, ...]  # columns, perhaps the label, that have fractional numbers
    labels: tuple[float, float]  # the smallest and the largest value; whole numbers unless the label is in `fractional`
    original: str  # the UCI file that contains the rows
    original_rows: int  # only the first `rows` of these are used
    archive: str  # its path at UCI, below the address for archives
    digest: str | None = None
    sample: Sample | None = None

    @property
    def file(self) -> str:
        """The name of the file in Parquet."""
        return f"{self.key}.parquet"

    @property
    def archive_file(self) -> str:
        """The name under which a browser saves UCI's archive."""
        return self.archive.rpartition("/")[2]

    @property
    def printed_unit(self) -> float:
        """The last digit to which Table 1 prints the scales."""
        return 1 if self.printed_scale[0] >= 1 else 0.001

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the dataset's table: the label first."""
        return ("label", *self.features)

    @property
    def whole_files(self) -> tuple[str, ...]:
        """The file names to look for in a directory, the best first."""
        return (self.file, self.original, f"{self.original}.gz", self.archive_file)


_BANK = Dataset(
    key="bank",
    title="Bank",
    citation="Moro, Rita and Cortez: Bank Marketing [Dataset], UCI Machine Learning Repository, 2012",
    doi="10.24432/C5K306",
    task="binary",
    printed_rows=45_212,
    printed_features=7,
    printed_scale=(31, 102_127),
    rows=45_211,
    features=(
        *("age", "job", "marital", "education", "default", "balance", "housing", "loan"),
        *("contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome"),
    ),
    text_features=(
        *("job", "marital", "education", "default", "housing", "loan"),
        *("contact", "month", "poutcome"),
    ),
    fractional=(),
    labels=(0, 1),
    original="bank-full.csv",
    original_rows=45_211,
    archive="222/bank+marketing.zip",
    digest="a51615c4d1fd295c6d9ab945b4b60b1be43580e03666874cb6c9951ffd12649a",
)

_CENSUS_TEXT = (
    "class_of_worker",
    "education",
    "enrolled_in_edu_inst_last_wk",
    "marital_status",
    "major_industry_code",
    "major_occupation_code",
    "race",
    "hispanic_origin",
    "sex",
    "member_of_labor_union",
    "reason_for_unemployment",
    "full_or_part_time_employment",
    "tax_filer_status",
    "region_of_previous_residence",
    "state_of_previous_residence",
    "detailed_household_and_family_stat",
    "detailed_household_summary",
    "migration_code_change_in_msa",
    "migration_code_change_in_reg",
    "migration_code_move_within_reg",
    "live_in_this_house_1_year_ago",
    "migration_prev_res_in_sunbelt",
    "family_members_under_18",
    "country_of_birth_father",
    "country_of_birth_mother",
    "country_of_birth_self",
    "citizenship",
    "fill_inc_questionnaire_for_veterans_admin",
)

_CENSUS = Dataset(
    key="census",
    title="Census",
    citation="Census-Income (KDD) [Dataset], UCI Machine Learning Repository, 2000",
    doi="10.24432/C5N30T",
    task="binary",
    printed_rows=199_523,
    printed_features=13,
    printed_scale=(2, 99_999),
    rows=199_523,
    features=(
        *("age", "class_of_worker", "industry_code", "occupation_code", "education", "wage_per_hour"),
        *_CENSUS_TEXT[2:12],
        *("capital_gains", "capital_losses", "dividends_from_stocks"),
        *_CENSUS_TEXT[12:17],
        "instance_weight",
        *_CENSUS_TEXT[17:22],
        "num_persons_worked_for_employer",
        *_CENSUS_TEXT[22:27],
        "own_business_or_self_employed",
        "fill_inc_questionnaire_for_veterans_admin",
        *("veterans_benefits", "weeks_worked_in_year", "year"),
    ),
    text_features=_CENSUS_TEXT,
    fractional=("instance_weight",),
    labels=(0, 1),
    original="census-income.data",
    original_rows=199_523,
    archive="117/census+income+kdd.zip",
    digest="d49c638afb5e81c9713d9f437b87aa3d7899fb770d2efdd553b985e95c3a489c",
)

_COVERTYPE = Dataset(
    key="covertype",
    title="Covertype",
    citation="Blackard: Covertype [Dataset], UCI Machine Learning Repository, 1998",
    doi="10.24432/C50K5N",
    task="classes",
    printed_rows=581_012,
    printed_features=54,
    printed_scale=(1, 7_173),
    rows=581_012,
    features=(
        *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology"),
        *("Horizontal_Distance_To_Roadways", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm"),
        "Horizontal_Distance_To_Fire_Points",
        *(f"Wilderness_Area{k}" for k in range(1, 5)),
        *(f"Soil_Type{k}" for k in range(1, 41)),
    ),
    text_features=(),
    fractional=(),
    labels=(1, 7),
    original="covtype.data",
    original_rows=581_012,
    archive="31/covertype.zip",
    digest="1632f555bd3fb84d71c5c9fce96140fd716784b6f510e723de8a156cdfb721cc",
)

_CTSLICE_FEATURES = tuple(f"value{k}" for k in range(384))

_CTSLICE = Dataset(
    key="ctslice",
    title="CT Slice",
    citation=(
        "Graf, Kriegel, Schubert, Poelsterl and Cavallaro: Relative location of CT slices on axial axis [Dataset], "
        "UCI Machine Learning Repository, 2011"
    ),
    doi="10.24432/C5CP6G",
    task="number",
    printed_rows=53_500,
    printed_features=360,
    printed_scale=(0.158, 1),
    rows=53_500,
    features=_CTSLICE_FEATURES,
    text_features=(),
    fractional=("label", *_CTSLICE_FEATURES),
    labels=(0, 180),
    original="slice_localization_data.csv",
    original_rows=53_500,
    archive="206/relative+location+of+ct+slices+on+axial+axis.zip",
    sample=Sample(
        file="ctslice_head682.parquet",
        rows=682,
        note="the first 682 of the 53,500 rows, and so scans of the first patients only",
        digest="e94a22f18d3a672636efe8472b4a44e0b67bc96f6fbaa0ed21ae2e8615415906",
    ),
)

_MSD_FEATURES = (*(f"TimbreAvg{k}" for k in range(1, 13)), *(f"TimbreCov{k}" for k in range(1, 79)))

_MSD = Dataset(
    key="msd",
    title="MSD",
    citation="Bertin-Mahieux: Year Prediction MSD [Dataset], UCI Machine Learning Repository, 2011",
    doi="10.24432/C50K61",
    task="number",
    printed_rows=463_715,
    printed_features=90,
    printed_scale=(60, 65_735),
    rows=463_715,
    features=_MSD_FEATURES,
    text_features=(),
    fractional=_MSD_FEATURES,
    labels=(1922, 2011),
    original="YearPredictionMSD.txt",
    original_rows=515_345,
    archive="203/yearpredictionmsd.zip",
    sample=Sample(
        file="msd_random7000.parquet",
        rows=7_000,
        note="7,000 of the 463,715 training rows, drawn at random",
        digest="c73f4eb8304e0df987d6d958975585fff4e147f65f906b41044ad18e177c9766",
    ),
)

_SHUTTLE = Dataset(
    key="shuttle",
    title="Shuttle",
    citation="Statlog (Shuttle) [Dataset], UCI Machine Learning Repository",
    doi="10.24432/C5WS31",
    task="classes",
    printed_rows=43_500,
    printed_features=9,
    printed_scale=(105, 13_839),
    rows=43_500,
    features=tuple(f"V{k}" for k in range(1, 10)),
    text_features=(),
    fractional=(),
    labels=(1, 7),
    original="shuttle.trn",
    original_rows=43_500,
    archive="148/statlog+shuttle.zip",
    digest="e773e4871d7dab569ddf0ba877e72295d8583611588545295bd2b50976c726e2",
)

DATASETS: dict[str, Dataset] = {
    dataset.key: dataset for dataset in (_BANK, _CENSUS, _COVERTYPE, _CTSLICE, _MSD, _SHUTTLE)
}
