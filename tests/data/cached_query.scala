// What made `cached_query.zstd` and `cached_query_more.zstd`: spark-shell -i cached_query.scala, Spark
// 3.5.9, on `local[2]` with the settings of `SMALL_TARGETS` in make_logs.py, FOLDER a folder of 4 and
// of 12 text files of 6,000 lines each: a number and a key (of 600). The sums of each key are joined
// with names, summed by name and cached; then the cache is read. `named_cache.zstd` is of the 4 files,
// with NAMED set: the cache has a name.
spark.conf.set("spark.sql.shuffle.partitions", 40)
val names = spark.range(600).selectExpr("id k", "id % 9 name").hint("broadcast")
val rows = spark.read.schema("n int, k int").csv(sys.env("FOLDER"))
val sums = rows.groupBy("k").sum("n").toDF("k", "s").join(names, "k").groupBy("name").agg(Map("s" -> "max"))
if (sys.env.contains("NAMED")) {
  sums.createOrReplaceTempView("highest")
  spark.catalog.cacheTable("highest")
} else sums.cache()
sums.count()
sums.groupBy().max("name").collect()
System.exit(0)
