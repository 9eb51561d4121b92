"""Into how many splits Spark packs the files of a scan, on any number of cores.

`FilePartition.maxSplitBytes` gives each core an equal share of all bytes, between the cost of
opening a file and the largest split. Files larger than a split are cut; what is left of them, and
smaller ones, are packed whole (`FilePartition.getFilePartitions`). Whole files seldom fill a split,
so that a small input has somewhat more splits than there are cores: a second wave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.cutting.partitions import LEAST_CORES

ALIKE = 1.5
"""A scan that had up to so many times as many splits as files of one size would, or as few, was
packed like them; others were cut by something else (buckets, a format that says its own)."""

AS_PACKED = 0.1
"""Fewer cores than the log's were counted where these make as many splits, within one or this."""

_WHOLE = 1e-9
"""Less than this is a rounding error of a number of files or splits."""


@dataclass(frozen=True, slots=True)
class FileSizes:
    """The files of one scan (or, as arrays, of each of m), taken to be of one size.

    Args:
        files: how many.
        file_bytes: size of each.
        split_bytes, open_cost_bytes: largest split, and what opening a file counts for.
        cut: whether a file larger than a split is cut, as a compressed text is not.
    """

    files: float | FloatArray
    file_bytes: float | FloatArray
    split_bytes: float | FloatArray
    open_cost_bytes: float | FloatArray
    cut: bool | BoolArray = True

    def largest(self, cores: FloatArray) -> FloatArray:
        """(n,) bytes that a split may hold on so many cores."""
        share = self.files * (self.file_bytes + self.open_cost_bytes) / cores
        return np.minimum(self.split_bytes, np.maximum(self.open_cost_bytes, share))

    def splits(self, cores: FloatArray) -> FloatArray:
        """(n,) splits on so many cores."""
        return self.packed(self.largest(cores))

    def packed(self, largest: FloatArray) -> FloatArray:
        """(n,) splits of which none holds more than so many bytes."""
        pieces = np.floor(self.file_bytes / largest + _WHOLE)
        rest = np.maximum(0.0, self.file_bytes - pieces * largest)
        rest = np.where(self.cut, rest, np.where(pieces > 0.0, 0.0, self.file_bytes))
        pieces = np.where(self.cut, pieces, np.minimum(pieces, 1.0))
        opened = rest + self.open_cost_bytes
        together = np.floor((largest + self.open_cost_bytes) / opened + _WHOLE)
        packed = np.where(rest > _WHOLE, self.files / together, 0.0)
        return np.asarray(self.files * pieces + packed)


@dataclass(frozen=True)
class PackedFiles:
    """The splits of one observed stage, or (as arrays) of each of m.

    Args:
        sizes: the files of each of its scans.
        scans: how many; each is packed for itself, and they are taken to be alike.
        cores: of the cluster of the log, and `splits`, as many as it had.
        counted: the share of a cluster's cores that it is packed for, as far as that is more than
            the least: those that were there when the query was planned.
        most: as many splits as the program leaves at most.
    """

    sizes: FileSizes
    scans: float | FloatArray
    cores: float | FloatArray
    splits: float | FloatArray
    counted: float | FloatArray = 1.0
    most: float | FloatArray = math.inf

    @classmethod
    def of(
        cls,
        sizes: FileSizes,
        *,
        scans: int,
        cores: int,
        splits: int,
        whole: bool | None = None,
        may_be_early: bool = False,
    ) -> PackedFiles | None:
        """None where as many splits are not those of such files, cut or uncut: whichever comes
        nearer, so that one large file in one split is not taken for one of two.

        Args:
            whole: whether Spark cuts no file of this format; None where that hangs on the file.
            may_be_early: whether executors may have come after the query was planned, which then
                was packed for fewer cores.
        """
        own = [replace(sizes, cut=cut) for cut in (True, False) if whole is not cut]
        by_rule = [scans * float(one.splits(np.asarray(float(cores)))) for one in own]
        count, found = min(zip(by_rule, own, strict=True), key=lambda one: abs(one[0] - splits))
        if abs(count - splits) <= 1.0 or 1.0 / ALIKE <= count / splits <= ALIKE:
            return cls(found, scans, float(cores), float(splits))
        found = own[0]
        fewer = np.arange(LEAST_CORES, cores) if may_be_early else np.empty(0)
        off = np.abs(scans * found.splits(fewer) - splits)
        if not off.size or off.min() > max(1.0, AS_PACKED * splits):
            return None
        nearest = float(fewer[off == off.min()].max())
        counted = nearest / cores if nearest > LEAST_CORES else 0.0
        return cls(found, scans, float(cores), float(splits), counted)

    @property
    def may_stay(self) -> bool:
        """Whether more data may be larger files and no more splits: of files that are not cut."""
        return not self.sizes.cut

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) splits of `ratio` times the input on so many cores.

        More input are more files of that size: fewer splits than cores become more up to one for
        each, and all once they are as large as they may be. Between these they get larger and their
        number stays, so that more is never less time. Less of the input is cut for the cores as
        well.
        """
        cores = self._counted(cores)
        own, for_each = self._own(cores), self.scans * cores
        if ratio < 1.0:
            kept = np.minimum(np.minimum(own, for_each), self._finest * ratio)
            return np.asarray(np.minimum(self.most, np.maximum(own * ratio, kept)))
        grown = np.maximum(np.minimum(own * ratio, for_each), self._full * ratio)
        return np.asarray(np.minimum(self.most, np.maximum(own, grown)))

    def in_files(
        self, cores: FloatArray, ratio: float | FloatArray, times: FloatArray
    ) -> FloatArray:
        """(n,) splits of `ratio` times the input on so many cores, where it lies in `times` as many
        files: as many as seen where files of one size would make as many as in the log, no fewer
        where they would make more, and no more where fewer."""
        each = self.sizes.file_bytes * ratio / times
        more = replace(self.sizes, files=self.sizes.files * times, file_bytes=each)
        by_rule = self.scans * more.splits(self._counted(cores))
        own = self.scans * self.sizes.splits(self._counted(np.asarray(self.cores)))
        found = np.where(by_rule > own, np.maximum(by_rule, self.splits), self.splits)
        found = np.where(by_rule < own, np.minimum(by_rule, self.splits), found)
        return np.asarray(np.minimum(self.most, found))

    def _counted(self, cores: FloatArray) -> FloatArray:
        """(n,) cores for which files are packed where there are so many."""
        return np.maximum(cores * self.counted, np.minimum(cores, LEAST_CORES))

    def on_own(self, ratio: float) -> FloatArray:
        """() or (m,) the same on the cores of the log."""
        return self.count(np.asarray(self.cores), ratio)

    def _own(self, cores: FloatArray) -> FloatArray:
        """(n,) splits of the observed input: as many as seen where they may be as large as there,
        no fewer where they may not, and no more where they may be larger."""
        largest, seen = self.sizes.largest(cores), self._largest_on_own
        by_rule = self.scans * self.sizes.splits(cores)
        smaller = np.where(largest < seen, np.maximum(by_rule, self.splits), self.splits)
        return np.where(largest > seen, np.minimum(by_rule, self.splits), smaller)

    @cached_property
    def _largest_on_own(self) -> FloatArray:
        """() or (m,) bytes that a split of the log's might hold."""
        return self.sizes.largest(self._counted(np.asarray(self.cores)))

    @cached_property
    def _finest(self) -> FloatArray:
        """() or (m,) splits on more cores than there are data for."""
        return np.asarray(self.scans * self.sizes.splits(np.asarray(math.inf)))

    @cached_property
    def _full(self) -> FloatArray:
        """() or (m,) splits where each is as large as it may be."""
        most = np.asarray(self.sizes.split_bytes)
        by_rule = np.minimum(self.splits, self.scans * self.sizes.packed(most))
        return np.where(self._largest_on_own == most, self.splits, by_rule)
