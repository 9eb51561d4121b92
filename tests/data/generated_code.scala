// Sales joined with customers, ranked per customer, written and read again. From a shell of Spark
// 2.4, whose scans are part of generated code: 5 files of 200,000 orders on two slots, 15 on four.
val data = sc.getConf.get("spark.data")
spark.conf.set("spark.sql.shuffle.partitions", "24")
val o = spark.read.schema("id long, c int, p int, q int, day int, note string").csv(s"/data/$data/orders")
val c = spark.read.schema("c int, name string, region int, seg string").csv(s"/data/$data/cust")
o.createOrReplaceTempView("o"); c.createOrReplaceTempView("c")
spark.sql("select region, seg, sum(q) s, count(distinct p) n from o join c on o.c = c.c group by region, seg order by s desc").show(5)
spark.sql("select * from (select c, p, sum(q) s, row_number() over (partition by c order by sum(q) desc) r from o group by c, p) where r <= 3").write.mode("overwrite").parquet(s"/out/report-$data")
println(spark.read.parquet(s"/out/report-$data").agg("s" -> "max").collect().toSeq)
sc.stop()
