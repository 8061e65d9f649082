"""Messages of the user's topics: JSON objects or raw bytes, to columns and back.

    reading.of_stream(stream, names, variables)     source that takes the columns out of a message
    reading.of_table(table, names, ...)             the same for updates by key
    writing.value(schema, variables)                source that makes the JSON object of an output

What comes in, for a column (missing and null are the same; anything else is an error that names the column):

| type | JSON |
|---|---|
| boolean | true, false |
| int, bigint | a number without a fraction that is not 0, within the type |
| double | a number; "NaN", "Infinity", "-Infinity" |
| decimal | a number or its text, every digit counted; rounded half up to the scale, as Spark does |
| string | a text |
| binary | a text in base64 |
| date | a text that a cast reads: "2026-03-01" |
| timestamp | a text that a cast reads: "2026-03-01T10:00:00.123Z", in UTC where it names no zone; or a number |
| array | an array |

A timestamp that is a number is in **milliseconds** since 1970, as Kafka's own timestamps are.

What goes out is one object with all columns in their order, null where they are; whole numbers and decimals as numbers
with all digits, timestamps as "2026-03-01T10:00:00.123Z" with no, three or six digits of the second. Whatever goes out
can be read in again.

The key of a message is the text of its only column; or, of several columns, or where that text would be null or begin
with "{", the JSON object of them: different keys have different bytes.
"""
