// What made `factors.zstd`, `factors_more.zstd` and `factors_wide.zstd`: spark-shell -i factors.scala,
// Spark 3.5.9, FOLDER a folder of text files of 3,000 lines each: a user (of 300 for each file), an
// item (of 200), a rating.
import org.apache.spark.mllib.recommendation.{ALS, Rating}
val ratings = sc.textFile(sys.env("FOLDER")).map(_.split(",")).map(c => Rating(c(0).toInt, c(1).toInt, c(2).toDouble))
val model = ALS.train(ratings, 3, 2)
println(model.predict(ratings.map(r => (r.user, r.product))).map(_.rating).mean)
System.exit(0)
