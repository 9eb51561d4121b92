"""A user's catalog files: what they may say, and what is wrong with them."""

import errno
from datetime import date
from pathlib import Path

import pytest
import yaml
from user_catalogs import copied, problem, write
from watched import calls_of

from engine.catalog_files.reader import find_type, load_catalog, validate_catalog
from engine.errors import BadInput, EngineError

USER_FILE = """\
provider: ours
region: cellar
date: 2026-05-01
source: finance, rate card of May
billing: {granularity_seconds: 3600, master: small}
memory_rule: {kind: share, share: 0.7}
instances:
  - {name: small, vcpus: 4, memory_gib: 16, usd_per_hour: 0.11}
  - name: big
    vcpus: 16
    memory_gib: 64
    usd_per_hour: 0.45
    spot_usd_per_hour: 0.2
    date: 2026-04-01
    arch: arm64
history: |
  name,usd_per_hour,date
  small,0.15,2025-01-01
  small,0.13,2024-01-01
"""


ROWS_FILE = """\
date: 2026-05-01
source: rate card
instances: |
  name,vcpus,memory_gib,usd_per_hour,arch
  # the two we have
  small,4,16,0.11,

  big, 16, 64, 0.45, arm64
"""


def test_a_users_file(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, USER_FILE))
    assert (catalog.name, catalog.provider, catalog.region) == ("ours", "ours", "cellar")
    small, big = catalog.offer("small"), catalog.offer("big")
    assert small.on_demand.source == "finance, rate card of May"
    assert small.on_demand.date == date(2026, 5, 1)
    assert big.on_demand.date == date(2026, 4, 1)
    assert big.spot.estimated is False
    assert big.instance.arch == "arm64"
    assert small.instance.cpu_score is None
    assert [price.usd_per_hour for price in small.history] == [0.13, 0.15]
    assert catalog.billing.granularity_seconds == 3600
    assert catalog.memory_rule.share == 0.7


def test_rows_say_the_same_as_mappings(tmp_path: Path) -> None:
    rows = load_catalog(write(tmp_path, ROWS_FILE))
    mappings = load_catalog(write(tmp_path, USER_FILE, "other.yaml"))
    for name in ("small", "big"):
        assert rows.offer(name).instance == mappings.offer(name).instance
        assert (
            rows.offer(name).on_demand.usd_per_hour == mappings.offer(name).on_demand.usd_per_hour
        )


def test_what_a_row_says_comes_before_what_the_file_says(tmp_path: Path) -> None:
    text = """date: 2026-05-01
source: sheet
spot: {estimated: true}
cpu_benchmark: coremark
instances: |
  name,vcpus,memory_gib,usd_per_hour,spot_usd_per_hour,spot_estimated,cpu_score
  small,4,16,0.11,0.05,false,
  big,16,64,0.45,0.2,,310000
"""
    offers = load_catalog(write(tmp_path, text)).offers
    small, big = offers["small"], offers["big"]
    assert (small.spot.estimated, big.spot.estimated) == (False, True)
    assert (small.instance.cpu_benchmark, big.instance.cpu_benchmark) == (None, "coremark")


def test_dates_of_all_rows_do_without_one_of_the_file(tmp_path: Path) -> None:
    text = """source: sheet
instances: |
  name,vcpus,memory_gib,usd_per_hour,date
  small,4,16,0.11,2026-02-01
  big,16,64,0.45,2026-01-01
"""
    catalog = load_catalog(write(tmp_path, text))
    assert catalog.date == date(2026, 2, 1)
    assert catalog.offers["big"].on_demand.date == date(2026, 1, 1)


def test_the_c_parser_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = copied("aws", tmp_path)
    whole = load_catalog(aws)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert load_catalog(aws).offers == whole.offers


def test_own_prices_for_bundled_shapes(tmp_path: Path) -> None:
    text = "date: 2026-06-01\nsource: our contract\nshapes: aws\ninstances: |\n"
    text += "  name,usd_per_hour,vcpus,memory_gib\n  m5.xlarge,0.15,,\n  cellar,0.05,8,32\n"
    catalog = load_catalog(write(tmp_path, text))
    assert catalog.offer("m5.xlarge").instance.cpu_score == 59119
    assert catalog.offer("cellar").instance.vcpus == 8
    assert set(catalog.offers) == {"m5.xlarge", "cellar"}


def test_shapes_beside_the_price_file(tmp_path: Path) -> None:
    write(tmp_path, "instances:\n  - {name: a, vcpus: 2, memory_gib: 8}\n", "mine.yaml")
    prices = "date: 2026-01-01\nsource: x\nshapes: mine.yaml\ninstances:\n"
    path = write(tmp_path, prices + "  - {name: a, usd_per_hour: 1}\n")
    assert load_catalog(path).offer("a").instance.vcpus == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("region:", "regoin:", "ours.yaml:2: unknown key 'regoin'; did you mean region?"),
        ("granularity_seconds", "granularity", "ours.yaml:5: unknown key 'granularity'"),
        (
            "master: small",
            "master: smal",
            "ours.yaml:5: unknown master type 'smal'; did you mean small?",
        ),
        ("3600", "never", "ours.yaml:5: granularity_seconds must be a number, not 'never'"),
        ("kind: share", "kind: shrae", "ours.yaml:6: kind must be emr-yarn or yarn or"),
        ("kind: share", "kind: yarn", "ours.yaml:6: share means nothing for kind yarn"),
        (
            "kind: share, share: 0.7",
            "kind: kubernetes, yarn: true",
            "ours.yaml:6: yarn means nothing for kind kubernetes",
        ),
        ("share: 0.7", "share: 1.5", "ours.yaml:6: share must be less than 1.0001"),
        ("vcpus: 4", "vcpus: 4, dbu_per_hour: 2", "ours.yaml:8: small: dbu_per_hour without dbu"),
        (
            "granularity_seconds: 3600",
            "discount_fraction: 1",
            "ours.yaml:5: discount_fraction must be less than 1",
        ),
        ("usd_per_hour: 0.11", "usd_per_hour: -1", "ours.yaml:8: small: usd_per_hour must be more"),
        ("usd_per_hour: 0.11", "usd_per_hour: 1e308", "small: usd_per_hour must be at most 1,000"),
        ("usd_per_hour: 0.11", "usd_per_hour: 1e-300", "usd_per_hour must be at least 1e-15"),
        ("vcpus: 4", "vcpus: 1e30", "small: vcpus must be at most 1,000,000, not 1e30"),
        ("usd_per_hour: 0.11", "usd_per_hour: .nan", "small: usd_per_hour must be a number"),
        ("usd_per_hour: 0.11", "usd_per_hour: nan", "small: usd_per_hour must be more than 0"),
        ("usd_per_hour: 0.11", "usd_per_hour: inf", "small: usd_per_hour must be more than 0"),
        (
            "usd_per_hour: 0.11",
            "usd_per_hour: 0,11",
            "ours.yaml:8: usd_per_hour: 0,11 is two values; write it with a point: 0.11",
        ),
        ("usd_per_hour: 0.11", "usd_per_hour: '0,11'", "not '0,11': write it with a point, 0.11"),
        ("memory_gib: 16", "memory_gib: 16, colour: 3", "ours.yaml:8: unknown column 'colour'"),
        ("3600", "3,6", "ours.yaml:5: granularity_seconds: 3,6 is two values"),
        ("usd_per_hour: 0.11", "usd_per_hour: 0", "small: usd_per_hour must be more than 0"),
        (
            "usd_per_hour: 0.11",
            "usd_per_hour: ~",
            "ours.yaml:8: a price without usd_per_hour; give the type one, or leave the type out",
        ),
        ("usd_per_hour: 0.11", "usd_per_hour: [1]", "ours.yaml:8: usd_per_hour must be a plain"),
        ("    vcpus: 16\n", "", "ours.yaml:9: big: vcpus is missing"),
        ("vcpus: 4", "vcpus: many", "ours.yaml:8: small: vcpus must be a number, not 'many'"),
        ("arch: arm64", "arch: arm", "big: arch must be x86_64 or arm64, not 'arm'"),
        ("arch: arm64", "acrh: arm64", "unknown column 'acrh'; did you mean arch?"),
        ("name: big", "name: small", "ours.yaml:9: small stands here for the second time"),
        ("name: big", "nmae: big", "unknown column 'nmae'"),
        ("{name: small, ", "{", "ours.yaml:8: name is missing"),
        (
            "name: small",
            'name: "small\\nrm -rf"',
            "ours.yaml:8: name must be one line that can be printed, not 'small\\nrm -rf'",
        ),
        ("cellar", '"cellar\\e[31m"', "ours.yaml:2: region must be one line that can be printed"),
        ("ours", '"ou\\x9brs"', "ours.yaml:1: provider must be one line that can be printed"),
        ("2026-04-01", "soon", "ours.yaml:9: big: date must be a date like 2026-07-20"),
        ("date: 2026-05-01\n", "", "a price without date; say 'date:' once for the file"),
        ("small,0.13,2024", "tiny,0.13,2024", "unknown instance type 'tiny'"),
        ("small,0.13,2024", "small,0.13,9,2024", "ours.yaml:19: 4 values in a table of 3 columns"),
        ("2024-01-01", "2025-01-01", "ours.yaml:19: 2025-01-01 stands here for the second time"),
        ("region: cellar", "region: [", "ours.yaml:4: not valid YAML"),
        ("region: cellar", "provider: x", "ours.yaml:2: key 'provider' twice"),
        ("history: |\n", "history: all\n", "ours.yaml:16: "),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in USER_FILE
    assert message in problem(tmp_path, USER_FILE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("- 1\n", "ours.yaml:1: the file must be a mapping"),
        ("date: 2026-01-01\nsource: x\n", "no instance types; add a list 'instances'"),
        ("instances: |\n", "ours.yaml:1: the table is empty"),
        ("instances: |\n  name,name\n  a,b\n", "ours.yaml:2: column 'name' twice"),
        ("a: " + "[" * 5000, "ours.yaml:1: nested too deeply"),
        ("shapes: awss\ninstances: []\n", "unknown shapes file 'awss'; did you mean aws?"),
        ("a: \x07\n", "not valid YAML"),
        ("a:\r\r\r\tb: 1\n", ":4: not valid YAML"),
        ("a:\n\tb: 1\n", ":2: not valid YAML: a tab indents the line; indent with spaces"),
    ],
)
def test_files_that_hold_no_catalog(tmp_path: Path, text: str, message: str) -> None:
    assert message in problem(tmp_path, text)


def test_a_shape_is_never_said_twice(tmp_path: Path) -> None:
    text = "date: 2026-01-01\nsource: x\nshapes: aws\ninstances:\n"
    text += "  - {name: m5.xlarge, usd_per_hour: 1, vcpus: 4, memory_gib: 16}\n"
    assert "ours.yaml:5: m5.xlarge: its shape stands in the shapes file" in problem(tmp_path, text)


def test_validation_tells_everything_that_is_wrong(tmp_path: Path) -> None:
    text = "date: 2026-01-01\nsource: x\ninstances: |\n  name,vcpus,memory_gib,usd_per_hour\n"
    rows = ["a,4,16,1", "b,4,16,-1", "c,,16,1", "a,4,16,1", ",4,16,1", "d,x,16,1"]
    path = write(tmp_path, text + "".join(f"  {row}\n" for row in rows))
    lines = sorted(str(error).split(":")[1] for error in validate_catalog(path))
    assert lines == ["10", "6", "7", "8", "9"]
    assert validate_catalog("aws") == ()


def test_a_catalog_that_may_not_be_read_names_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "theirs.yaml"
    path.write_text("x: 1\n")
    plain = Path.read_text

    def denied(self: Path, *arguments: str, **named: str) -> str:
        if self == path:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return plain(self, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(BadInput, match="cannot be read: Permission denied; ask its owner"):
        load_catalog(path)


def test_names_that_are_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="unknown catalog 'awz'"):
        load_catalog("awz")
    with pytest.raises(BadInput, match=r"nowhere.yaml: cannot be read"):
        load_catalog("nowhere.yaml")
    with pytest.raises(BadInput, match="no price files"):
        load_catalog(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not a text file"):
        load_catalog(tmp_path / "binary.yaml")


def test_quoted_cells_may_hold_commas(tmp_path: Path) -> None:
    text = "date: 2026-01-01\ninstances: |\n  name,vcpus,memory_gib,usd_per_hour,source\n"
    catalog = load_catalog(write(tmp_path, text + '  a,4,16,1,"finance, May"\n'))
    assert catalog.offer("a").on_demand.source == "finance, May"
    assert "not a row" in problem(tmp_path, text + '  a,4,16,1,"finance\n')


def test_the_yaml_parser_never_sees_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why a thousand types load fast, counted and not timed."""
    seen = calls_of(monkeypatch, yaml, "parse")
    assert len(load_catalog(copied("aws", tmp_path)).offers) == 1027
    assert len(seen) == 2
    assert sum(len("".join(text.split())) for text, *_ in seen) < 4000


def test_nesting_over_many_lines_is_refused_before_it_overflows_the_parser(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("catalog: x\ninstances:\n" + " [\n" * 30_000, encoding="utf-8")
    with pytest.raises(BadInput, match=r"deep\.yaml:\d+: nested too deeply"):
        load_catalog(path)


def test_terms_of_ones_own() -> None:
    catalog = load_catalog("azure-databricks")
    cheaper = catalog.with_terms(discount_fraction=0.2, dbu=0.22)
    assert (cheaper.billing.discount_fraction, cheaper.billing.usd_per_dbu) == (0.2, 0.22)
    assert cheaper.billing.dbu_date is None
    assert catalog.with_terms(dbu="premium-jobs").billing == catalog.billing
    assert catalog.with_terms() is catalog
    with pytest.raises(EngineError, match=r"unknown DBU tier 'standard'.*premium-jobs"):
        catalog.with_terms(dbu="standard")
    with pytest.raises(EngineError, match="catalog aws meters no DBUs"):
        load_catalog("aws").with_terms(dbu=0.3)
    with pytest.raises(BadInput, match="a discount lies between 0 and 1"):
        catalog.with_terms(discount_fraction=1.0)


def test_a_type_is_found_in_any_catalog() -> None:
    assert find_type("m5.xlarge", first="gcp")[0].name == "aws"
    assert find_type("n2-standard-4", first="aws")[0].name == "gcp"
    assert find_type("Standard_D4s_v5", first="aws")[0].name == "azure"
    assert find_type("m3.xlarge", first=load_catalog("papers"))[0].name == "papers"
    with pytest.raises(EngineError, match=r"unknown.*did you mean.*n2-standard-4"):
        find_type("n2-standart-4", first="aws")


def test_a_region_that_a_catalog_does_not_have() -> None:
    with pytest.raises(EngineError, match=r"unknown region 'eu-west-1'.*us-east-1") as caught:
        load_catalog("aws", region="eu-west-1")
    assert "did you mean" not in str(caught.value), "another continent is no slip of the pen"
    assert str(caught.value).endswith("(choices: us-east-1)")
    assert "sparkplan catalog refresh" in str(caught.value)
    assert load_catalog("aws", region="us-east-1").region == "us-east-1"


def yaml_examples() -> list[str]:
    page = Path(__file__).parents[3] / "docs" / "catalogs.md"
    blocks = page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    return [text for block in blocks if "instances" in (text := block.split("```")[0])]


@pytest.mark.parametrize("example", yaml_examples())
def test_the_examples_of_the_page_are_valid(tmp_path: Path, example: str) -> None:
    """Those that show a part of a file lack what the file says once."""
    said_once = "" if "\ndate:" in f"\n{example}" else "date: 2026-05-01\nsource: x\n"
    path = write(tmp_path, said_once + example)
    assert [str(problem) for problem in validate_catalog(path)] == []
