#include <medley/data/csv_file.h>

#include "data_files.h"

namespace medley {
namespace {

using Fields = std::vector<std::string>;

class Csv : public DataFiles {};

TEST_F(Csv, FieldsMayBeQuoted) {
  const CsvFile file(
      Write("a.csv", "name,\"the text\"\r\none, two words \r\n\"a, b\",\"say \"\"hi\"\"\nthere\"\n,\n"));
  EXPECT_EQ(file.columns(), (Fields{"name", "the text"}));
  ASSERT_EQ(file.size(), 3);
  EXPECT_EQ(file.Read(0), (Fields{"one", " two words "}));
  EXPECT_EQ(file.Read(1), (Fields{"a, b", "say \"hi\"\nthere"}));
  EXPECT_EQ(file.Read(2), (Fields{"", ""}));
  EXPECT_EQ(file.Column("the text"), 1U);
}

TEST_F(Csv, TheSeparatorMayBeAnother) {
  EXPECT_EQ(CsvFile(Write("a.tsv", "a\tb\n1,5\t2\n"), '\t').Read(0), (Fields{"1,5", "2"}));
}

TEST_F(Csv, TheMistakesOfAllRecordsAreToldAtOnceWithTheirPlaces) {
  EXPECT_EQ(
      Refusal([&] { CsvFile(Write("a.csv", "x,y\n\n1\n1,2,3\n1,2\n\"1\"2,3\n1\"\",2\n1,\"2\n3,4\n")); }),
      "5 records are not well formed\n"
      "  a.csv:3: expected 2 fields, as there are columns; found 1\n"
      "  a.csv:4: expected 2 fields, as there are columns; found 3\n"
      "  a.csv:6: field 1: something stands behind a closing quote\n"
      "  a.csv:7: field 1: a quote stands inside of a field; quote the field, and double the quotes in it\n"
      "  a.csv:8: field 2: a quote is not closed");
  EXPECT_EQ(Refusal([&] { CsvFile(Write("b.csv", "x,\"y\"z\n1\n1,2\n")); }),
            "b.csv:1: field 2: something stands behind a closing quote");
}

// By the separator that is meant, whatever one looked for before.
TEST_F(Csv, AnotherSeparatorIsAnotherQuestion) {
  const auto file = Write("a.csv", "x;y\n1;2\n1,5;2\n");
  EXPECT_EQ(CsvFile(file, ';').Read(1), (Fields{"1,5", "2"}));
  EXPECT_EQ(Refusal([&] { const CsvFile commas(file); }),
            "a.csv:3: expected 1 fields, as there are columns; found 2");
  EXPECT_EQ(CsvFile(file, ';').size(), 2);
}

TEST_F(Csv, AColumnThatIsNotThereIsNamed) {
  const CsvFile file(Write("a.csv", "x,y\n1,2\n"));
  EXPECT_EQ(Refusal([&] { file.Column("z"); }),
            "a.csv:1: no column 'z'; did you mean 'x' or 'y'? (columns: x, y)");
}

TEST_F(Csv, TheColumnsMustHaveNames) {
  EXPECT_EQ(Refusal([&] { CsvFile(Write("a.csv", "\n")); }),
            "a.csv is empty; expected a first line with the names of the columns");
  EXPECT_EQ(Refusal([&] { CsvFile(Write("b.csv", "x,y,x\n")); }), "b.csv:1: two columns are called 'x'");
}

}  // namespace
}  // namespace medley
