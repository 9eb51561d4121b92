// What made `closure.zstd` and `closure_more.zstd`: spark-shell -i closure.scala, Spark 3.5.9, FOLDER a
// folder of text files of 300 lines each: an edge of a graph with 300 vertices for each file.
val edges = sc.textFile(sys.env("FOLDER")).map(_.split(" ")).map(e => (e(0).toInt, e(1).toInt)).distinct().cache()
val back = edges.map(_.swap)
var paths = edges
for (_ <- 1 to 3) {
  paths = paths.union(paths.join(back).map { case (_, (to, from)) => (from, to) }).distinct().cache()
  println(paths.count)
}
System.exit(0)
