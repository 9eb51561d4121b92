/** Classics of benchmark suites, and what teams do to files, in Scala, which `benchmarks/logs.py
  * --held-out` runs in spark-shell over the sales of a shop:
  *
  *   echo ':paste classic_jobs.scala' | spark-shell --conf spark.classic=JOB,INPUT,OUTPUT
  *
  * Sales are in the form of TPC-DS as Parquet (5 MB a file, with dimensions that stay as they are),
  * as lines of a hundred characters and as gzipped CSV. The job `store` writes a pool of them.
  */
import java.io.File
import org.apache.spark.HashPartitioner
import org.apache.spark.mllib.linalg.Vectors
import org.apache.spark.mllib.linalg.distributed.RowMatrix
import org.apache.spark.resource.{ResourceProfileBuilder, TaskResourceRequests}
import org.apache.spark.sql.{DataFrame, SaveMode}
import org.apache.spark.sql.functions._
import org.apache.spark.storage.StorageLevel

object Jobs {
  val Rows = 250000
  val (dates, items, customers) = (730, 18000, 200000)
  val Columns = "ss_sold_date_sk int, ss_item_sk int, ss_customer_sk int, ss_store_sk int, " +
    "ss_ticket_number long, ss_quantity int, ss_sales_price decimal(7,2), " +
    "ss_wholesale_cost decimal(7,2), ss_net_profit decimal(7,2), note string"

  def sales(in: String): DataFrame = spark.read.parquet(s"$in/sales")

  def views(in: String): Unit =
    for ((table, folder) <- Seq("store_sales" -> "sales", "date_dim" -> "date_dim",
                                "item" -> "item", "customer" -> "customer"))
      spark.read.parquet(s"$in/$folder").createOrReplaceTempView(table)

  /** So many files of each kind, and the dimensions. */
  def store(out: String, files: Int): Unit = {
    dimensions(out)
    for (number <- 0 until files) {
      val rows = sold(number).cache()
      val lines = rows.selectExpr(
        "concat(substr(sha2(string(ss_ticket_number * 31 + ss_customer_sk), 256), 1, 10), " +
          "lpad(ss_ticket_number, 32, '0'), repeat(chr(65 + ss_store_sk), 56))")
      val noted = rows.drop("channel")
        .withColumn("note", expr("substr(sha2(string(ss_item_sk), 256), 1, 40)"))
      keep(rows, out, "sales", number, "parquet")
      keep(lines, out, "lines", number, "text")
      keep(noted, out, "gz", number, "csv", "header" -> "true", "compression" -> "gzip")
      rows.unpersist()
    }
  }

  def dimensions(out: String): Unit = {
    def write(rows: Int, name: String, columns: String*): Unit =
      spark.range(0, rows, 1, 1).selectExpr(columns: _*)
        .write.mode(SaveMode.Overwrite).parquet(s"$out/$name")
    val date = "date_add(date'2024-01-01', int(id))"
    write(dates, "date_dim", "int(id) d_date_sk", s"$date d_date", s"year($date) d_year",
          s"month($date) d_moy")
    write(items, "item", "int(id) i_item_sk", "int(id % 900) i_brand_id",
          "concat('brand', id % 900) i_brand", "concat('cat', id % 10) i_category",
          "concat('class', id % 100) i_class", "int(id % 100) i_manager_id",
          "repeat(md5(string(id)), 6) i_item_desc")
    write(customers, "customer", "int(id) c_customer_sk",
          "concat('C', sha2(string(id), 256)) c_customer_id",
          "concat('name', id % 5000) c_last_name", "int(1930 + id % 70) c_birth_year")
  }

  def sold(number: Int): DataFrame = {
    def draw(place: Int) = s"rand(${100 * place + number})"
    spark.range(number.toLong * Rows, (number + 1L) * Rows, 1, 1).selectExpr(
      s"int($dates * ${draw(1)}) ss_sold_date_sk", s"int($items * pow(${draw(2)}, 2)) ss_item_sk",
      s"int($customers * ${draw(3)}) ss_customer_sk", s"int(12 * ${draw(4)}) ss_store_sk",
      "id div 8 ss_ticket_number", s"int(1 + 99 * ${draw(5)}) ss_quantity",
      s"cast(200 * ${draw(6)} as decimal(7,2)) ss_sales_price",
      s"cast(100 * ${draw(7)} as decimal(7,2)) ss_wholesale_cost",
      s"cast(400 * ${draw(8)} - 200 as decimal(7,2)) ss_net_profit",
      s"element_at(array('store', 'web', 'catalog'), int(1 + 3 * ${draw(9)})) channel")
  }

  /** The rows as the one file `part-NUMBER` of a kind. */
  def keep(rows: DataFrame, out: String, kind: String, number: Int, format: String,
           options: (String, String)*): Unit = {
    val (into, written) = (new File(s"$out/$kind"), s"$out/written")
    into.mkdirs()
    rows.coalesce(1).write.mode(SaveMode.Overwrite).format(format).options(options.toMap)
      .save(written)
    val part = new File(written).listFiles.filter(_.getName.startsWith("part-")).head
    val ending = part.getName.replaceFirst("^part-[0-9]+-[^.]*", "")
    part.renameTo(new File(into, f"part-$number%04d" + ending))
  }

  /** Lines sorted by their first ten characters, by ranges that a sample gives. */
  def tera_sort(in: String, out: String): Unit =
    sc.textFile(s"$in/lines").map(line => (line.substring(0, 10), line.substring(10))).sortByKey()
      .map { case (key, rest) => key + rest }.saveAsTextFile(out)

  /** Customers' nearest five by shared items, and those of these: joins of a graph with itself. */
  def neighbours(in: String, out: String): Unit = {
    import spark.implicits._
    val (parts, level) = (new HashPartitioner(8), StorageLevel.MEMORY_AND_DISK_SER)
    val bought = sales(in).where("ss_store_sk = 0 and ss_item_sk > 9000")
      .select("ss_item_sk", "ss_customer_sk").as[(Int, Int)].rdd.partitionBy(parts).persist(level)
    val pairs = bought.join(bought, parts).values.filter { case (one, other) => one != other }
    val weights = pairs.map(pair => (pair, 1.0)).reduceByKey(parts, _ + _)
    val best = weights.map { case ((one, other), weight) => (one, (weight, other)) }
      .groupByKey(parts).mapValues(_.toSeq.sorted.reverse.take(5)).persist(level)
    println(best.count())
    val second = best.flatMap { case (one, near) => near.map { case (w, b) => (b, (one, w)) } }
      .join(best, parts)
      .flatMap { case (_, ((one, w), near)) => near.map { case (v, c) => ((one, c), w * v) } }
    second.reduceByKey(parts, _ + _).map { case ((one, c), w) => s"$one $c $w" }.saveAsTextFile(out)
  }

  /** Singular vectors of what customers buy, the rows kept on disk alone. */
  def singular(in: String, out: String): Unit = {
    import spark.implicits._
    val bought = sales(in)
      .selectExpr("ss_ticket_number", "ss_item_sk % 200", "double(ss_sales_price)")
      .as[(Long, Int, Double)].rdd.map { case (ticket, item, price) => (ticket, (item, price)) }
    val rows = bought.groupByKey().values.map { lines =>
      val sums = lines.groupBy(_._1).map { case (item, some) => (item, some.map(_._2).sum) }
      Vectors.sparse(200, sums.toSeq)
    }
    val svd = new RowMatrix(rows.persist(StorageLevel.DISK_ONLY)).computeSVD(8, computeU = true)
    svd.U.rows.map(_.toArray.mkString(",")).saveAsTextFile(out)
  }

  val Dated = "store_sales join date_dim on d_date_sk = ss_sold_date_sk"
  val Listed = s"$Dated join item on ss_item_sk = i_item_sk"

  /** After questions 52, 3, 1, 67, 63 and 28 of TPC-DS. */
  val Questions = Seq(
    s"""select d_year, i_brand_id, i_brand, sum(ss_sales_price * ss_quantity) ext from $Listed
        where i_manager_id = 1 and d_moy = 11 and d_year = 2024
        group by 1, 2, 3 order by 1, ext desc, 2 limit 100""",
    s"""select d_year, i_brand_id, sum(ss_net_profit) s from $Listed
        where i_class = 'class28' and d_moy = 11 group by 1, 2 order by 1, s desc limit 100""",
    s"""with r as (select ss_customer_sk c, ss_store_sk s, sum(ss_net_profit) total from $Dated
                   where d_year = 2024 group by 1, 2)
        select c_customer_id from r a join customer on c = c_customer_sk
        where total > (select avg(total) * 1.2 from r b where a.s = b.s) order by 1 limit 100""",
    s"""select * from (
          select *, rank() over (partition by i_category order by sumsales desc) rk from (
            select i_category, i_class, i_brand, d_year, d_moy, ss_store_sk,
                   sum(coalesce(ss_sales_price * ss_quantity, 0)) sumsales from $Listed
            group by rollup (i_category, i_class, i_brand, d_year, d_moy, ss_store_sk)))
        where rk <= 100 order by 1, 2, 3, rk limit 100""",
    s"""select * from (select i_manager_id, d_moy, sum(ss_sales_price) s,
                              avg(sum(ss_sales_price)) over (partition by i_manager_id) a
                       from $Listed where d_year = 2025 group by 1, 2)
        where abs(s - a) / a > 0.05 order by 1, 3 limit 100""",
    (0 until 3).map(n => s"""(select avg(ss_sales_price) a$n, count(ss_sales_price) c$n,
        count(distinct ss_sales_price) d$n from store_sales
        where ss_quantity between ${20 * n} and ${20 * n + 20})""")
      .mkString("select * from ", " cross join ", " limit 100"))

  /** A power run: questions one after another, each collected. */
  def power_run(in: String, out: String): Unit = {
    views(in)
    Questions.foreach(question => println(spark.sql(question).collect().length))
  }

  /** Customers of all channels, and of one but no other. */
  def set_queries(in: String, out: String): Unit = {
    views(in)
    def of(channel: String) = s"""select distinct c_last_name, c_birth_year, d_date from $Dated
      join customer on c_customer_sk = ss_customer_sk
      where channel = '$channel' and d_year = 2024"""
    val all = Seq("store", "web", "catalog").map(of)
    println(spark.sql(all.mkString("select count(*) from (", " intersect ", ")")).collect().head)
    spark.sql(all.map(one => s"($one)").mkString(" except ")).write.parquet(out)
  }

  /** Gzipped CSV into folders of months, sorted in ranges, at most so many rows a file. */
  def gzip_ingest(in: String, out: String): Unit =
    spark.read.option("header", true).schema(Columns).csv(s"$in/gz")
      .withColumn("month", expr("ss_sold_date_sk div 30"))
      .repartitionByRange(12, col("month"), col("ss_item_sk"))
      .sortWithinPartitions("month", "ss_item_sk")
      .write.option("maxRecordsPerFile", 50000).partitionBy("month").parquet(out)

  /** One gzipped file, whose schema is found by reading it: single tasks read all of it. */
  def one_gzip(in: String, out: String): Unit =
    spark.read.option("header", true).option("inferSchema", true).csv(s"$in/one.csv.gz")
      .groupBy("ss_customer_sk")
      .agg(sum("ss_net_profit"), countDistinct("ss_item_sk"), max("note")).write.parquet(out)

  /** Tasks of one core that read, then tasks of two cores that fit a model for each store. */
  def stage_level(in: String, out: String): Unit = {
    import spark.implicits._
    val two = new ResourceProfileBuilder().require(new TaskResourceRequests().cpus(2)).build()
    val points = sales(in)
      .selectExpr("ss_store_sk", "double(ss_sales_price)", "double(ss_quantity)",
                  "double(ss_net_profit)")
      .as[(Int, Double, Double, Double)].rdd
      .map { case (store, x, y, z) => (store, Array(x / 200, y / 100, z / 200)) }
    points.groupByKey(12).withResources(two).map { case (store, some) =>
      val all = some.toArray
      var (a, b) = (0.0, 0.0)
      for (_ <- 0 until 60) {
        var (da, db) = (0.0, 0.0)
        for (x <- all) {
          val off = a * x(0) + b * math.tanh(x(1)) - x(2)
          da += off * x(0)
          db += off * math.tanh(x(1))
        }
        a -= da / all.length
        b -= db / all.length
      }
      s"$store $a $b"
    }.saveAsTextFile(out)
  }

  /** A join on a key of which one value has a third of the rows, split by adaptive execution. */
  def skew_split(in: String, out: String): Unit = {
    val rows = sales(in)
      .withColumn("k", expr("if(ss_ticket_number % 3 = 0, 7, ss_customer_sk)"))
      .withColumn("pad", expr("md5(string(ss_ticket_number))"))
    val people = spark.read.parquet(s"$in/customer").withColumnRenamed("c_customer_sk", "k")
    rows.join(people, "k").groupBy("c_birth_year", "ss_store_sk")
      .agg(sum("ss_net_profit"), max("pad"), max("c_customer_id")).write.parquet(out)
  }

  /** Pairs of items in one basket, counted and sorted; an accumulator counts what is left out. */
  def basket_pairs(in: String, out: String): Unit = {
    val odd = sc.longAccumulator("odd")
    val dear = udf { (price: java.math.BigDecimal) =>
      if (price.doubleValue < 1) odd.add(1)
      price.doubleValue >= 1
    }
    val baskets = sales(in).where(dear(col("ss_sales_price"))).groupBy("ss_ticket_number")
      .agg(sort_array(collect_set("ss_item_sk")).as("items"))
    baskets.select(col("items"), posexplode(col("items")).as(Seq("at", "a")))
      .selectExpr("a", "explode(slice(items, at + 2, 20)) b")
      .groupBy("a", "b").count().where("count > 1").orderBy(desc("count")).write.parquet(out)
    println(odd.value)
  }

  def run(job: String, in: String, out: String): Unit = job match {
    case "store" => store(out, in.toInt)
    case "tera_sort" => tera_sort(in, out)
    case "neighbours" => neighbours(in, out)
    case "singular" => singular(in, out)
    case "power_run" => power_run(in, out)
    case "set_queries" => set_queries(in, out)
    case "gzip_ingest" => gzip_ingest(in, out)
    case "one_gzip" => one_gzip(in, out)
    case "stage_level" => stage_level(in, out)
    case "skew_split" => skew_split(in, out)
    case "basket_pairs" => basket_pairs(in, out)
  }
}

val Array(job, in, out) = spark.conf.get("spark.classic").split(",")
try Jobs.run(job, in, out) catch { case error: Throwable => error.printStackTrace(); sys.exit(1) }
spark.stop()
sys.exit(0)
