// Word count over a folder of text files.

val Array(input, output) = spark.conf.get("spark.sample.arguments").split(" ")

sc.textFile(input)
  .flatMap(_.toLowerCase.split("[^a-z]+"))
  .map(word => (word, 1L))
  .reduceByKey(_ + _)
  .saveAsTextFile(output)

spark.stop()
System.exit(0)
