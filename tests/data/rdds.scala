// What made `rdds.zstd` and `rdds_more.zstd`: spark-shell -i rdds.scala, Spark 3.5.9, FOLDER a folder
// of text files of 2,000 lines each, OUT an empty folder. A line has a number, a user (of 5,000 for
// each file), a shop (of 100) and a text of 16 letters.
import org.apache.spark._
val out = sys.env("OUT")
val rows = sc.textFile(sys.env("FOLDER")).map(_.split(","))
println(rows.zipWithIndex().filter(_._2 % 10 == 0).count)
val users = rows.map(c => (c(1), c(0).toLong)).reduceByKey(_ + _)
println(users.zipWithIndex().count)
val kept = rows.map(c => (c(2), c(3))).cache(); println(kept.count)
println(kept.zipWithIndex().map(_._2).max)
println(rows.map(_(3)).zipWithIndex().reduceByKey(_ + _).count)
println(sc.parallelize(1 to 1000).zipWithIndex().count)
rows.map(c => (c(0), c(3))).sortByKey(numPartitions = 5).map(_._2).saveAsTextFile(out + "/five")
println(sc.textFile(out + "/five").map(_.length).sum)
rows.map(_(3)).saveAsTextFile(out + "/each")
println(sc.textFile(out + "/each").filter(_.contains("b")).count)
val shops = sc.parallelize(0 until 100, 8).map(i => ("s" + i, i))
println(rows.map(c => (c(2), 1)).reduceByKey(_ + _).join(shops).count)
val five = users.partitionBy(new HashPartitioner(5)).cache(); println(five.count)
println(five.join(users.mapValues(_ + 1)).count)
println(five.join(rows.map(c => (c(1), 1))).count)
System.exit(0)
