// Sorts records of 100 bytes by their first ten.

val Array(input, output) = spark.conf.get("spark.sample.arguments").split(" ")

sc.textFile(input)
  .map(record => (record.take(10), record.drop(10)))
  .sortByKey()
  .map { case (key, rest) => key + rest }
  .saveAsTextFile(output)

spark.stop()
System.exit(0)
