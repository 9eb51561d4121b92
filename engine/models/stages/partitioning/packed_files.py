"""The number of splits into which Spark packs the files of a scan, by cores and data.

`FilePartition.maxSplitBytes` gives each core an equal share of all bytes, limited to between the
cost of opening a file and the largest split. Files larger than a split are divided. Their
remainders and smaller files are packed whole (`FilePartition.getFilePartitions`). Whole files
seldom fill a split, so a small input has somewhat more splits than there are cores: a second wave.

In: sizes of files and their splits in a log. Out: the number of splits by input and cores.
Explained in docs/models/sparkplan_rules_replay.md#scans-of-files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.partitioning.partitions import LEAST_CORES

PACKING_TOLERANCE = 1.5
"""Packing files of one size explains the observed splits up to this factor either way; others were
made by something else (buckets, a format with a rule of its own)."""

EARLY_TOLERANCE = 0.1
"""The scan was packed for fewer cores than the log's if these give the observed splits within one
or within this share."""

_WHOLE = 1e-9
"""A smaller part of a file or split is rounding error."""


@dataclass(frozen=True, slots=True)
class FileSizes:
    """The files of one scan (or, as arrays, of each of m), taken to be of one size.

    Args:
        file_bytes: size of each file.
        split_bytes, open_cost_bytes: largest split, and the size that opening a file counts for.
        splittable: whether files are splittable; compressed text is not.
    """

    files: float | FloatArray
    file_bytes: float | FloatArray
    split_bytes: float | FloatArray
    open_cost_bytes: float | FloatArray
    splittable: bool | BoolArray = True

    def max_split_bytes(self, cores: FloatArray) -> FloatArray:
        """(n,) largest size of a split on (n,) cores, in bytes (`maxSplitBytes`)."""
        share = self.files * (self.file_bytes + self.open_cost_bytes) / cores
        return np.minimum(self.split_bytes, np.maximum(self.open_cost_bytes, share))

    def splits(self, cores: FloatArray) -> FloatArray:
        """(n,) splits on (n,) cores."""
        return self.splits_up_to(self.max_split_bytes(cores))

    def splits_up_to(self, max_split_bytes: FloatArray) -> FloatArray:
        """(n,) splits of at most (n,) bytes."""
        whole_splits = np.floor(self.file_bytes / max_split_bytes + _WHOLE)
        remainder = np.maximum(0.0, self.file_bytes - whole_splits * max_split_bytes)
        remainder = np.where(
            self.splittable, remainder, np.where(whole_splits > 0.0, 0.0, self.file_bytes)
        )
        whole_splits = np.where(self.splittable, whole_splits, np.minimum(whole_splits, 1.0))
        remainder_cost = remainder + self.open_cost_bytes
        per_split = np.floor((max_split_bytes + self.open_cost_bytes) / remainder_cost + _WHOLE)
        packed = np.where(remainder > _WHOLE, self.files / per_split, 0.0)
        return np.asarray(self.files * whole_splits + packed)


@dataclass(frozen=True)
class PackedFiles:
    """The splits of one observed stage whose files were packed, or (as arrays) of each of m.

    Args:
        sizes: the files of each of its scans.
        scans: number of scans, each packed separately and taken to be alike.
        cores, splits: of the log.
        counted_share: share of a cluster's cores for which files are packed, where these are more
            than the least: the share that had come when the query was planned.
        most: most splits, by the program's `coalesce`.
    """

    sizes: FileSizes
    scans: float | FloatArray
    cores: float | FloatArray
    splits: float | FloatArray
    counted_share: float | FloatArray = 1.0
    most: float | FloatArray = math.inf

    @classmethod
    def of(
        cls,
        sizes: FileSizes,
        *,
        scans: int,
        cores: int,
        splits: int,
        unsplittable: bool | None = None,
        may_be_early: bool = False,
    ) -> PackedFiles | None:
        """The packing that explains the observed `splits`; None if none does.

        Files are taken to be splittable or not, whichever comes nearer, so that one large file in
        one split is not taken for one in two.

        Args:
            unsplittable: whether files of this format are never split; None if that depends on the
                file.
            may_be_early: whether the query may have been planned before all executors had come, and
                its files packed for fewer cores.
        """
        options = [
            replace(sizes, splittable=splittable)
            for splittable in (True, False)
            if unsplittable is not splittable
        ]
        by_rule = [scans * float(one.splits(np.asarray(float(cores)))) for one in options]
        count, best = min(zip(by_rule, options, strict=True), key=lambda one: abs(one[0] - splits))
        is_close = 1.0 / PACKING_TOLERANCE <= count / splits <= PACKING_TOLERANCE
        if is_close or abs(count - splits) <= 1.0:
            return cls(best, scans, float(cores), float(splits))
        first = options[0]
        fewer = np.arange(LEAST_CORES, cores) if may_be_early else np.empty(0)
        errors = np.abs(scans * first.splits(fewer) - splits)
        if not errors.size or errors.min() > max(1.0, EARLY_TOLERANCE * splits):
            return None
        early_cores = float(fewer[errors == errors.min()].max())
        counted_share = early_cores / cores if early_cores > LEAST_CORES else 0.0
        return cls(first, scans, float(cores), float(splits), counted_share)

    @property
    def may_keep_split_count(self) -> bool:
        """Whether the number of splits may stay with more data: unsplittable files may get
        larger."""
        return not self.sizes.splittable

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) splits at `ratio` times the input on (n,) cores.

        More input is taken to be more files of the same size. The number of splits grows up to one
        per core, and again once they are of the largest size. In between they get larger and their
        number stays, or falls where more files fill splits better: five on four cores are five
        splits, twenty are four. Less input is divided for the cores as well.
        """
        counted = self._counted_cores(cores)
        observed, per_core = self._of_log_input(counted), self.scans * counted
        if ratio < 1.0:
            divided = np.minimum(np.minimum(observed, per_core), self._finest_splits * ratio)
            return np.asarray(np.minimum(self.most, np.maximum(observed * ratio, divided)))
        grown = np.maximum(np.minimum(observed * ratio, per_core), self._largest_splits * ratio)
        fewest = np.minimum(observed, self.in_files(cores, ratio, np.asarray(ratio)))
        return np.asarray(np.minimum(self.most, np.maximum(fewest, grown)))

    def in_files(
        self, cores: FloatArray, ratio: float | FloatArray, times: FloatArray
    ) -> FloatArray:
        """(n,) splits at `ratio` times the input in `times` as many files on (n,) cores.

        The observed number, unless packing files of one size gives more (or fewer) splits than it
        gives for the log: then at least (or at most) the observed number.
        """
        file_bytes = self.sizes.file_bytes * ratio / times
        more_files = replace(self.sizes, files=self.sizes.files * times, file_bytes=file_bytes)
        by_rule, in_log = self.scans * more_files.splits(self._counted_cores(cores)), self._by_rule
        splits = np.where(by_rule > in_log, np.maximum(by_rule, self.splits), self.splits)
        splits = np.where(by_rule < in_log, np.minimum(by_rule, self.splits), splits)
        return np.asarray(np.minimum(self.most, splits))

    def _counted_cores(self, cores: FloatArray) -> FloatArray:
        """(n,) cores for which files are packed on a cluster of (n,) cores."""
        return np.maximum(cores * self.counted_share, np.minimum(cores, LEAST_CORES))

    def on_log_cores(self, ratio: float) -> FloatArray:
        """() or (m,) splits at `ratio` times the input on the cores of the log."""
        return self.count(np.asarray(self.cores), ratio)

    def _of_log_input(self, cores: FloatArray) -> FloatArray:
        """(n,) splits of the observed input on (n,) cores: the observed number where the largest
        split size is that of the log, at least that number where it is smaller, and at most that
        number where it is larger."""
        max_split_bytes, log_split_bytes = self.sizes.max_split_bytes(cores), self._log_split_bytes
        by_rule = self.scans * self.sizes.splits(cores)
        smaller = np.where(
            max_split_bytes < log_split_bytes, np.maximum(by_rule, self.splits), self.splits
        )
        return np.where(
            max_split_bytes > log_split_bytes, np.minimum(by_rule, self.splits), smaller
        )

    @cached_property
    def _by_rule(self) -> FloatArray:
        """() or (m,) splits that packing files of one size gives for the log."""
        return self.scans * self.sizes.splits(self._counted_cores(np.asarray(self.cores)))

    @cached_property
    def _log_split_bytes(self) -> FloatArray:
        """() or (m,) largest size of a split in the log, in bytes."""
        return self.sizes.max_split_bytes(self._counted_cores(np.asarray(self.cores)))

    @cached_property
    def _finest_splits(self) -> FloatArray:
        """() or (m,) splits on unlimited cores: the finest that the open cost allows."""
        return np.asarray(self.scans * self.sizes.splits(np.asarray(math.inf)))

    @cached_property
    def _largest_splits(self) -> FloatArray:
        """() or (m,) splits of the observed input at the largest split size."""
        most = np.asarray(self.sizes.split_bytes)
        by_rule = np.minimum(self.splits, self.scans * self.sizes.splits_up_to(most))
        return np.where(self._log_split_bytes == most, self.splits, by_rule)
