// What made `keys.zstd` and `keys_more.zstd`: spark-shell -i keys.scala, Spark 3.5.9, FOLDER a folder
// of text files of 8,000 lines each. A line has an order, a user (20,000 times the cube of an even
// number), a product (of 2,000), a shop (of 300), four more columns, a price and a text of 32 letters.
import org.apache.spark._
def rows = sc.textFile(sys.env("FOLDER")).map(_.split(","))
println(rows.map(c => (c(2), c(6).toDouble)).aggregateByKey((0.0, 0))((z, v) => (z._1 + v, z._2 + 1), (x, y) => (x._1 + y._1, x._2 + y._2)).mapValues(z => z._1 / z._2).sortByKey().collect.length)
val perUser = rows.map(c => (c(1), c(6).toDouble)).reduceByKey(_ + _).cache(); println(perUser.count)
println(perUser.map(x => (x._2, x._1)).sortByKey().collect.length)
println(rows.map(c => c(1) + c(4)).distinct().map(x => (x, 1)).partitionBy(new HashPartitioner(6)).count)
println(rows.map(c => (c(3), c(9))).aggregateByKey(List.empty[String])((z, v) => v :: z, (x, y) => x ::: y).map(x => (x._2.size, x._2)).sortByKey().count)
System.exit(0)
