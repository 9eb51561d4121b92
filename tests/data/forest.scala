// What made `forest.zstd` and `forest_more.zstd`: spark-shell -i forest.scala, Spark 3.5.9, FOLDER a
// folder of text files of 4,000 lines each: a class (of two) and six numbers.
import org.apache.spark.mllib.linalg.Vectors
import org.apache.spark.mllib.regression.LabeledPoint
import org.apache.spark.mllib.tree.{DecisionTree, RandomForest}
val rows = sc.textFile(sys.env("FOLDER")).map(_.split(",").map(_.toDouble)).map(v => LabeledPoint(v(0), Vectors.dense(v.drop(1)))).cache()
println(rows.count)
println(RandomForest.trainClassifier(rows, 2, Map[Int, Int](), 2, "auto", "gini", 2, 16, 1).totalNumNodes)
System.exit(0)
