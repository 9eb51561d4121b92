// What made `rebalanced.zstd` and `rebalanced_more.zstd`: spark-shell -i rebalanced.scala, Spark
// 3.5.9, with the settings of `SKEWED` in make_logs.py, FOLDER a folder of text files of 4,000 lines
// each: a key (of 5,000, but 7 in three of ten), another (of four) and a text of 36 letters.
spark.read.schema("k int, f int, text string").csv(sys.env("FOLDER")).createOrReplaceTempView("rows")
for (hint <- Seq("REBALANCE", "REBALANCE(k)", "REBALANCE(f)"))
  spark.sql(s"select /*+ $hint */ * from rows").write.format("noop").mode("overwrite").save()
System.exit(0)
