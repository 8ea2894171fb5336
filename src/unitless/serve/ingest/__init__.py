"""Messages of brokers (Redis, Kafka).

source.py         what every broker gives: messages after a position
redis_stream.py   a Redis stream
kafka_topic.py    a partition of a Kafka topic
messages.py       which events messages are
ingestion.py      messages become records of a primary's log
"""
