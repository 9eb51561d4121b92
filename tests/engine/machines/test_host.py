import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml

from engine.catalog_files.reader import load_catalog, type_in
from engine.errors import BadInput
from engine.files import write_text
from engine.machines import host
from engine.machines.host import (
    REFERENCE_RATES,
    REFERENCE_SCORE,
    SCORE_SPREAD,
    HostReport,
    host_catalog_text,
    measure_host,
    processor_name,
    resources_text,
    score_of,
    threads_of_a_core,
    usable_cores,
    usable_memory_bytes,
)
from engine.machines.host_probes import (
    MIB,
    Measured,
    cpu_kernels,
    disk_rates,
    filesystem_of,
    link_bytes_per_second,
    rate_on_all_cores,
    require_free_space,
)
from engine.machines.transfer import SPREAD_BETWEEN_CATALOGS, speed_of

QUICK = 0.02


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> HostReport:
    folder = tmp_path_factory.mktemp("disk")
    found = measure_host(
        name="box", folder=folder, disk_bytes=8 * MIB, seconds=QUICK, today=date(2026, 11, 21)
    )
    assert list(folder.iterdir()) == [], "what was written is removed"
    return found


def test_everything_is_measured_with_its_spread(report: HostReport) -> None:
    rates = [
        *report.single.values(),
        *report.all_cores.values(),
        report.score,
        report.score_per_core,
        report.memory_bytes_per_second,
        report.disk.write,
        report.loopback_bytes_per_second,
    ]
    for rate in rates:
        assert 0.0 < rate.low <= rate.median <= rate.high < math.inf
        assert rate.repetitions >= 3
    assert report.cores >= 1
    assert report.memory_gib > 0.0
    assert 0 < report.disk.bytes_written <= 8 * MIB
    assert report.notices[0].code == "calibrated-score"


def test_the_reference_machine_scores_its_reference() -> None:
    """Calibration by definition: the reference's rates give the reference's score, twice the rates
    twice the score, and one kernel of three that doubles the cube root of two."""
    reference = {kernel: [rate] for kernel, rate in REFERENCE_RATES.items()}
    assert score_of(reference).median == pytest.approx(REFERENCE_SCORE)
    twice = {kernel: [2 * rate] for kernel, rate in REFERENCE_RATES.items()}
    assert score_of(twice).median == pytest.approx(2 * REFERENCE_SCORE)
    one = {**reference, "sort": [2 * REFERENCE_RATES["sort"]]}
    assert score_of(one).median == pytest.approx(2 ** (1 / 3) * REFERENCE_SCORE)


def test_the_reference_is_that_of_the_catalog() -> None:
    catalog = load_catalog("aws")
    for name in ("c7a.xlarge", "m7a.xlarge"):
        assert catalog.offer(name).instance.cpu_score_per_vcpu == pytest.approx(
            REFERENCE_SCORE, rel=0.02
        )
    assert set(REFERENCE_RATES) == set(cpu_kernels())


def test_the_file_serves_ran_on(report: HostReport, tmp_path: Path) -> None:
    file = tmp_path / "box.yaml"
    write_text(file, host_catalog_text(report, usd_per_hour=None))
    catalog, instance = type_in("box", str(file))
    assert catalog is None
    assert instance == report.instance
    assert (instance.cpu_benchmark, instance.cpu_score_spread) == ("coremark", SCORE_SPREAD)
    with pytest.raises(BadInput, match="holds shapes without prices; it serves --ran-on"):
        load_catalog(file)
    with pytest.raises(BadInput, match="unknown instance type 'bax'; did you mean box"):
        type_in("bax", str(file))


def test_with_a_price_it_is_a_catalog(report: HostReport, tmp_path: Path) -> None:
    file = tmp_path / "box.yaml"
    write_text(file, host_catalog_text(report, usd_per_hour=0.1))
    offer = load_catalog(file).offer("box")
    assert offer.instance == report.instance
    assert (offer.on_demand.usd_per_hour, offer.on_demand.date) == (0.1, date(2026, 11, 21))
    assert type_in("box", str(file))[1] == report.instance


def test_a_calibrated_score_widens_the_interval(report: HostReport) -> None:
    aws = load_catalog("aws")
    speed = speed_of(aws.offer("m5.xlarge").instance, report.instance, aws)
    assert speed.code == "transferred-speed"
    assert speed.log_scale == pytest.approx(math.hypot(SPREAD_BETWEEN_CATALOGS, SCORE_SPREAD))


def test_the_resource_profile(report: HostReport) -> None:
    found = yaml.safe_load(resources_text(report))
    assert found["local_write_bytes_per_second"] == round(report.disk.write.median)
    assert found["network_bytes_per_second"] == round(report.network_bytes_per_second)
    assert found["hdfs_read_bytes_per_second"] is None
    assert found["hdfs_write_bytes_per_second"] is None
    unread = replace(report, disk=replace(report.disk, read=None))
    assert yaml.safe_load(resources_text(unread))["local_read_bytes_per_second"] is None


def test_the_card_bounds_the_network(report: HostReport) -> None:
    loopback = Measured(1e9, 1e9, 1e9, 3)
    assert replace(
        report, loopback_bytes_per_second=loopback, link_bytes_per_second=1.25e8
    ).network_bytes_per_second == pytest.approx(1.25e8)
    alone = replace(report, loopback_bytes_per_second=loopback, link_bytes_per_second=None)
    assert alone.network_bytes_per_second == 1e9


def test_all_cores_add_up() -> None:
    """Threads whose work is counted by a clock that every call moves by one: the rates add."""
    ticks = iter(range(10_000))
    rates = rate_on_all_cores(
        lambda: lambda: 3.0, threads=1, repetitions=4, seconds=0.0, clock=lambda: float(next(ticks))
    )
    assert rates == [3.0] * 4


def test_no_room_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"MB free, .* MB are needed; name another folder"):
        require_free_space(tmp_path, 1 << 60)
    with pytest.raises(BadInput, match="cannot be used: No such file"):
        measure_host(name="box", folder=tmp_path / "none", seconds=QUICK)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BadInput, match="no folder that can be written to"):
        require_free_space(file, MIB)


@pytest.mark.parametrize("name", ["", "a b", "x@y", "a/b", "a,b", '"'])
def test_names_that_cannot_be_types(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name of a type"):
        measure_host(name=name)


@pytest.mark.parametrize("size", [0, 1000, 1 << 50])
def test_disk_use_is_bounded(size: int) -> None:
    with pytest.raises(BadInput, match="a file of 1 MiB to 8 GiB is written"):
        measure_host(name="box", disk_bytes=size)


def test_a_failing_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.machines.host_probes.os.fsync", full)
    with pytest.raises(BadInput, match="cannot be measured: No space left on device"):
        disk_rates(tmp_path, size_bytes=MIB, repetitions=1, seconds=1.0)
    assert list(tmp_path.iterdir()) == []


def test_reads_from_memory_are_not_counted_as_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.machines.host_probes.os.O_DIRECT", 0, raising=False)
    found = disk_rates(tmp_path, size_bytes=MIB, repetitions=1, seconds=1.0)
    if filesystem_of(tmp_path) not in ("tmpfs", "ramfs"):
        assert found.read is None
        assert "not counted" in str(found.note)


def test_which_file_system_a_folder_is_on(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\nx\n")
    assert filesystem_of(tmp_path, mounts) == "tmpfs"
    assert filesystem_of(Path("/"), mounts) == "ext4"
    assert filesystem_of(tmp_path, tmp_path / "none") is None


def test_limits_of_a_container_hold(tmp_path: Path) -> None:
    whole = usable_cores(tmp_path)
    assert whole >= 1
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == whole
    (tmp_path / "memory.max").write_text("1048576\n")
    assert usable_memory_bytes(tmp_path) == 1048576
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_memory_bytes(tmp_path) > 1048576


def test_what_the_system_states(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Some  CPU @ 2 GHz\n")
    assert processor_name(info) == "Some CPU @ 2 GHz"
    assert processor_name(tmp_path / "none") is None
    for card, speed in (("lo", "-1"), ("eth0", "10000"), ("eth1", "x")):
        (tmp_path / card).mkdir()
        (tmp_path / card / "speed").write_text(speed)
    assert link_bytes_per_second(tmp_path) == 10_000 * 1e6 / 8
    assert link_bytes_per_second(tmp_path / "none") is None


def test_a_busy_machine_says_so(report: HostReport) -> None:
    codes = [n.code for n in host.notices_of(5.0, 2, report.disk, 1e9)]
    assert "busy-host" in codes
    assert "busy-host" not in [n.code for n in host.notices_of(0.1, 2, report.disk, 1e9)]
    assert "busy-host" not in [n.code for n in host.notices_of(None, 2, report.disk, 1e9)]


@pytest.mark.parametrize(("listed", "threads"), [("0", 1), ("0-1\n", 2), ("0,48\n", 2), ("0-7", 8)])
def test_the_kernel_says_how_many_processors_are_a_core(
    tmp_path: Path, listed: str, threads: int
) -> None:
    siblings = tmp_path / "thread_siblings_list"
    siblings.write_text(listed)
    assert threads_of_a_core(siblings) == threads


@pytest.mark.parametrize("listed", ["", "two", "0-x"])
def test_threads_of_a_core_may_be_unknown(tmp_path: Path, listed: str) -> None:
    siblings = tmp_path / "thread_siblings_list"
    siblings.write_text(listed)
    assert threads_of_a_core(siblings) is None
    assert threads_of_a_core(tmp_path / "none") is None
