// What made `outnumbered.zstd` and `outnumbered_more.zstd`: spark-shell -i outnumbered.scala, Spark
// 3.5.9, FOLDER a folder of text files of 2,000 lines each. A line has a number, a user (of 5,000 for
// each file), a shop (of 100) and a text of 16 letters.
val rows = sc.textFile(sys.env("FOLDER")).map(_.split(","))
val texts = rows.map(c => (c(2), c(3)))
val shops = rows.map(c => (c(2), 1)).reduceByKey(_ + _, 5)
println(shops.join(texts).count)
val kept = shops.cache(); println(kept.count)
println(kept.join(texts).count)
println(shops.mapValues(_ + 1).join(rows.map(c => (c(2), c(0))).reduceByKey(_ + "," + _)).count)
System.exit(0)
