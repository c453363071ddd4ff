#include <gtest/gtest.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

class PassImagesTest : public ::testing::Test {
 protected:
  PassImagesTest() { batch_.Add("picture", at::full({2, 3, 2, 2}, 255, at::kByte)); }

  Batch batch_{RowRange{1, 0, 2}};
  PassImages images_{batch_, at::kDouble};
};

TEST_F(PassImagesTest, APictureIsMadeOnceUntilItIsForgotten) {
  const ModelInput first = images_.Image("picture");
  EXPECT_EQ(first.name, "images");
  EXPECT_EQ(first.key, "batch:picture");
  EXPECT_TRUE(at::equal(first.tensor, at::ones({2, 3, 2, 2}, at::kDouble)));
  images_.ForgetPixels([](const std::string& column) { return column != "picture"; });
  EXPECT_TRUE(images_.Pixels("picture").is_same(first.tensor));
  images_.ForgetPixels([](const std::string& column) { return column == "picture"; });
  EXPECT_FALSE(images_.Pixels("picture").is_same(first.tensor));
}

TEST_F(PassImagesTest, ACarryIsHandedOutUntilItIsTaken) {
  const at::Tensor before = at::zeros({2, 3, 2, 2}), canvas = at::ones({2, 3, 2, 2});
  EXPECT_FALSE(images_.Carried("canvas").defined());
  images_.Carry("canvas", before);
  images_.Carry("canvas", canvas);
  EXPECT_TRUE(images_.Image("canvas").tensor.is_same(canvas));
  EXPECT_EQ(images_.Image("canvas").key, "carry:canvas");
  EXPECT_TRUE(images_.TakeCarry("canvas").is_same(canvas));
  EXPECT_FALSE(images_.TakeCarry("canvas").defined());
  EXPECT_TRUE(images_.carries().empty());
}

TEST(PictureKeys, NameTheirColumnOrCarry) {
  for (const std::string name : {"image", "after.image", "a:b"}) {
    EXPECT_EQ(NameOfKey(ColumnKey(name)), name);
    EXPECT_EQ(NameOfKey(CarryKey(name)), name);
    EXPECT_NE(ColumnKey(name), CarryKey(name));
  }
}

}  // namespace
}  // namespace medley
