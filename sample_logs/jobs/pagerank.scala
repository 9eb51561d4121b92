// PageRank of a web graph with GraphX; prints the names of the best pages. Iterative.

import org.apache.spark.graphx.{GraphLoader, PartitionStrategy}

val Array(input, output, iterations) = spark.conf.get("spark.sample.arguments").split(" ")

val graph = GraphLoader
  .edgeListFile(sc, s"$input/links", numEdgePartitions = 16)
  .partitionBy(PartitionStrategy.EdgePartition2D)
  .cache()
val ranks = graph.staticPageRank(iterations.toInt).vertices
val names = sc.textFile(s"$input/pages.txt").map { line =>
  val Array(id, name) = line.split(" ")
  (id.toLong, name)
}
ranks.join(names).values.sortBy(-_._1).saveAsTextFile(output)

spark.stop()
System.exit(0)
