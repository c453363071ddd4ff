#include <medley/weights/pretrained_keys.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace medley {
namespace {

constexpr double kMostWidth = 1 << 24, kMostLayers = 1024, kMostPositions = 1 << 30, kMostNumber = 1e12,
                 kMostSide = 4096;

constexpr ReadKey Whole(std::string_view name, double most, double low = 1) {
  return {.name = name, .type = KeyType::kInteger, .low = low, .most = most};
}
constexpr ReadKey Above0(std::string_view name, double most = kMostNumber) {
  return {.name = name, .type = KeyType::kNumber, .most = most, .above_low = true};
}
constexpr ReadKey Of(KeyType type, std::string_view name) { return {.name = name, .type = type}; }
// transformers writes null where it says nothing, and reads it so.
constexpr ReadKey OrNull(ReadKey key) {
  key.or_null = true;
  return key;
}

constexpr ReadKey Late(ReadKey key) {
  key.late = true;
  return key;
}

constexpr ReadKey kRead[] = {Of(KeyType::kText, "model_type"),
                             OrNull(Of(KeyType::kArray, "architectures")),
                             Whole("vocab_size", kMostWidth),
                             Whole("hidden_size", kMostWidth),
                             Whole("intermediate_size", kMostWidth),
                             Whole("num_hidden_layers", kMostLayers),
                             Whole("num_attention_heads", kMostLayers),
                             OrNull(Whole("num_key_value_heads", kMostLayers)),
                             OrNull(Whole("head_dim", kMostWidth)),
                             Whole("max_position_embeddings", kMostPositions),
                             Above0("rms_norm_eps", 1),
                             Of(KeyType::kSwitch, "tie_word_embeddings"),
                             Of(KeyType::kSwitch, "attention_bias"),
                             Of(KeyType::kText, "hidden_act"),
                             Above0("rope_theta"),
                             OrNull(Of(KeyType::kObject, "rope_parameters")),
                             OrNull(Of(KeyType::kObject, "rope_scaling")),
                             OrNull(Above0("partial_rotary_factor")),
                             Whole("original_max_position_embeddings", kMostPositions),
                             OrNull(Of(KeyType::kArray, "layer_types")),
                             Of(KeyType::kSwitch, "use_sliding_window"),
                             Late(OrNull(Whole("sliding_window", kMostNumber))),
                             Late(Whole("max_window_layers", kMostNumber, 0))};

// Where the config came from, in which type the weights are, how they began, what is returned, labels of
// other tasks, and how texts are generated: nothing of what a text's logits are computed from.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_attn_implementation_internal",
                                          "_commit_hash",
                                          "_experts_implementation_internal",
                                          "_name_or_path",
                                          "assistant_confidence_threshold",
                                          "assistant_lookbehind",
                                          "attn_implementation",
                                          "bad_words_ids",
                                          "begin_suppress_tokens",
                                          "bos_token_id",
                                          "chunk_size_feed_forward",
                                          "classifier_dropout",
                                          "decoder_start_token_id",
                                          "distributed_config",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
                                          "encoder_no_repeat_ngram_size",
                                          "encoder_repetition_penalty",
                                          "eos_token_id",
                                          "epsilon_cutoff",
                                          "eta_cutoff",
                                          "experts_implementation",
                                          "exponential_decay_length_penalty",
                                          "finetuning_task",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "gradient_checkpointing",
                                          "id2label",
                                          "ignore_keys_at_rope_validation",
                                          "initializer_range",
                                          "is_decoder",
                                          "is_llama_config",
                                          "label2id",
                                          "length_penalty",
                                          "loss_type",
                                          "max_length",
                                          "min_length",
                                          "name_or_path",
                                          "no_repeat_ngram_size",
                                          "num_assistant_tokens",
                                          "num_assistant_tokens_schedule",
                                          "num_beam_groups",
                                          "num_beams",
                                          "num_labels",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_scores",
                                          "pad_token_id",
                                          "prefix",
                                          "pretraining_tp",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "repetition_penalty",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "sep_token_id",
                                          "summary_activation",
                                          "summary_type",
                                          "suppress_tokens",
                                          "target_lookbehind",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tie_last_hidden_states",
                                          "tokenizer_class",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers.js_config",
                                          "transformers_version",
                                          "typical_p",
                                          "unsloth_fixed",
                                          "unsloth_version",
                                          "use_bfloat16",
                                          "use_cache",
                                          "xla_device"};

constexpr std::string_view kQuantized = "medley reads weights of fp32, fp16 and bf16",
                           kOtherModel = "it makes another model of it than a decoder of text",
                           kTurned = "medley's positions are turns of queries and keys",
                           kOtherName = "it is another class's name of a size";
constexpr RefusedKey kRefused[] = {
    {"alibi", "[false, null]", kTurned},
    {"use_alibi", "[false, null]", kTurned},
    {"n_layers", "[null]", kOtherName},
    {"n_positions", "[null]", kOtherName},
    {"text_config", "[null]", kOtherModel},
    {"hidden_dropout", "[0, null]", "medley drops nothing of hidden states"},
    {"is_causal", "[true]", "a token of medley's language sees those before it only"},
    {"per_layer_config", "[null, {}]", "medley's layers are all alike"},
    {"attention_chunk_size", "[null]", "every layer of medley sees the whole text"},
    {"mlp_bias", "[false]", "medley's feed-forward networks have no biases"},
    {"attention_dropout", "[0]", "medley drops none of attention's weights"},
    {"use_mrope", "[false, null]", "medley's positions are places in the text"},
    {"rope_interleaved", "[false, null]", "medley turns the halves of a head against each other"},
    {"pruned_heads", "[null, {}]", "medley's layers have all heads"},
    {"is_encoder_decoder", "[false]", kOtherModel},
    {"add_cross_attention", "[false]", kOtherModel},
    {"cross_attention_hidden_size", "[null]", kOtherModel},
    {"tie_encoder_decoder", "[false]", kOtherModel},
    {"quantization_config", "[null]", kQuantized},
    {"quantization", "[null]", kQuantized},
    {"compression_config", "[null]", kQuantized},
    {"sparsity_config", "[null]", kQuantized},
    {"transformers_weights", "[null]", "medley reads model.safetensors, or the shards of its index"},
    {"fusion_config", "[null, {}]", "medley fuses no modules"},
    {"auto_map", "[null, {}]",
     "code of the folder's own may compute something else than the class of transformers. Where it does not, "
     "name auto_map in \"ignored_keys\" beside \"pretrained\" in the model file",
     /*may_be_named=*/true}};

template <typename T, std::size_t kFirst, std::size_t kSecond>
constexpr std::array<T, kFirst + kSecond> Joined(const T (&first)[kFirst], const T (&second)[kSecond]) {
  std::array<T, kFirst + kSecond> all{};
  std::copy(std::begin(first), std::end(first), all.begin());
  std::copy(std::begin(second), std::end(second), all.begin() + kFirst);
  return all;
}

constexpr ReadKey kReadOfLlava[] = {Of(KeyType::kText, "model_type"),
                                    OrNull(Of(KeyType::kArray, "architectures")),
                                    Of(KeyType::kObject, "text_config"),
                                    Of(KeyType::kObject, "vision_config"),
                                    Whole("image_token_index", kMostWidth, 0),
                                    Whole("image_token_id", kMostWidth, 0),
                                    Of(KeyType::kText, "projector_hidden_act"),
                                    Of(KeyType::kText, "vision_feature_select_strategy"),
                                    Whole("vision_feature_layer", kMostLayers, -kMostLayers),
                                    Of(KeyType::kSwitch, "multimodal_projector_bias"),
                                    Of(KeyType::kSwitch, "tie_word_embeddings")};
constexpr ReadKey kReadOfTwoTowers[] = {
    Of(KeyType::kText, "model_type"), OrNull(Of(KeyType::kArray, "architectures")),
    Of(KeyType::kObject, "vision_config"), OrNull(Of(KeyType::kObject, "vision_config_dict"))};
constexpr ReadKey kReadOfTower[] = {Of(KeyType::kText, "model_type"),
                                    OrNull(Of(KeyType::kArray, "architectures")),
                                    Whole("hidden_size", kMostWidth),
                                    Whole("intermediate_size", kMostWidth),
                                    Whole("num_hidden_layers", kMostLayers),
                                    Whole("num_attention_heads", kMostLayers),
                                    Whole("num_channels", kMostWidth),
                                    Whole("image_size", kMostSide),
                                    Whole("patch_size", kMostSide),
                                    Of(KeyType::kText, "hidden_act"),
                                    Above0("layer_norm_eps", 1)};
constexpr ReadKey kReadOfPreprocessor[] = {Of(KeyType::kSwitch, "do_resize"),
                                           OrNull(Of(KeyType::kSwitch, "do_center_crop")),
                                           Of(KeyType::kSwitch, "default_to_square"),
                                           OrNull(Of(KeyType::kText, "feature_extractor_type")),
                                           OrNull(Of(KeyType::kText, "image_processor_type")),
                                           Of(KeyType::kSwitch, "do_rescale"),
                                           Of(KeyType::kSwitch, "do_normalize"),
                                           OrNull(Of(KeyType::kSwitch, "do_pad")),
                                           Whole("resample", 5, 0),
                                           Above0("rescale_factor"),
                                           Of(KeyType::kArray, "image_mean"),
                                           Of(KeyType::kArray, "image_std")};

// Sizes of what is not read, of losses that are not computed here, and how weights began.
constexpr std::string_view kHarmlessOfPictures[] = {
    "ignore_index",           "image_seq_length", "initializer_factor",
    "logit_scale_init_value", "projection_dim",   "text_config_dict",
    "tie_word_embeddings",    "vision_use_head",  "vocab_size"};
constexpr std::string_view kHarmlessOfTwoTowers[] = {"text_config"};
constexpr std::string_view kHarmlessOfPreprocessor[] = {"_processor_class",
                                                        "_valid_kwargs_names",
                                                        "_valid_processor_keys",
                                                        "background_color",
                                                        "crop_size",  // read by hand: of two forms
                                                        "data_format",
                                                        "device",
                                                        "disable_grouping",
                                                        "do_convert_rgb",
                                                        "image_seq_length",
                                                        "input_data_format",
                                                        "num_additional_image_tokens",
                                                        "patch_size",
                                                        "processor_class",
                                                        "return_tensors",
                                                        "size",  // the same
                                                        "vision_feature_select_strategy"};
constexpr auto kHarmlessAroundTowers = Joined(kHarmless, kHarmlessOfPictures);
constexpr auto kHarmlessOfBoth = [] {
  std::array<std::string_view, kHarmlessAroundTowers.size() + 1> all{};
  std::copy(kHarmlessAroundTowers.begin(), kHarmlessAroundTowers.end(), all.begin());
  all.back() = kHarmlessOfTwoTowers[0];
  return all;
}();

constexpr std::string_view kOtherTower = "it makes another tower of it than CLIP's or SigLIP's";
constexpr RefusedKey kRefusedOfPictures[] = {
    {"attention_dropout", "[0, null]", "medley drops none of attention's weights"},
    {"dropout", "[0, null]", "medley drops nothing of a tower's states"},
    {"hidden_dropout", "[0, null]", "medley drops nothing of a tower's states"},
    {"pruned_heads", "[null, {}]", "medley's layers have all heads"},
    {"is_encoder_decoder", "[false]", kOtherTower},
    {"add_cross_attention", "[false]", kOtherTower},
    {"cross_attention_hidden_size", "[null]", kOtherTower},
    {"tie_encoder_decoder", "[false]", kOtherTower},
    {"image_grid_pinpoints", "[null]", "medley sees a picture once, whole"},
    {"quantization_config", "[null]", kQuantized},
    {"quantization", "[null]", kQuantized},
    {"compression_config", "[null]", kQuantized},
    {"sparsity_config", "[null]", kQuantized},
    {"transformers_weights", "[null]", "medley reads model.safetensors, or the shards of its index"},
    {"fusion_config", "[null, {}]", "medley fuses no modules"},
    {"auto_map", "[null, {}]",
     "code of the folder's own may compute something else than the class of transformers. Where it does not, "
     "name auto_map in \"ignored_keys\" beside \"pretrained\" in the model file",
     /*may_be_named=*/true}};
constexpr RefusedKey kRefusedOfPreprocessor[] = {
    {"size_divisor", "[null]", "medley's pictures have one size"},
    {"pad_size", "[null]", "medley pads no pictures"},
    {"do_image_splitting", "[false, null]", "medley sees a picture once, whole"},
    {"image_grid_pinpoints", "[null]", "medley sees a picture once, whole"},
    {"auto_map", "[null, {}]",
     "code of the folder's own may make something else of pictures than the class of transformers. Where it "
     "does not, name auto_map in \"ignored_keys\" beside \"pretrained\" in the model file",
     /*may_be_named=*/true}};
constexpr std::string_view kAdviceOfPictures =
    "It may change what the model sees. Where it does not, name it in \"ignored_keys\" beside "
    "\"pretrained\" in the model file";

constexpr ReadKey kRope[] = {
    Above0("rope_theta"),       Of(KeyType::kText, "rope_type"),
    Of(KeyType::kText, "type"), OrNull(Above0("partial_rotary_factor")),
    Above0("factor"),           Above0("low_freq_factor"),
    Above0("high_freq_factor"), Whole("original_max_position_embeddings", kMostPositions)};

}  // namespace

KeyTable PretrainedKeys() {
  return {.read = kRead,
          .harmless = kHarmless,
          .refused = kRefused,
          .advice =
              "It may change what the model computes. Where it does not, name it in \"ignored_keys\" "
              "beside \"pretrained\" in the model file"};
}

KeyTable LlavaKeys() {
  return {.read = kReadOfLlava,
          .harmless = kHarmlessAroundTowers,
          .refused = kRefusedOfPictures,
          .advice = kAdviceOfPictures};
}

KeyTable TwoTowersKeys() {
  return {.read = kReadOfTwoTowers,
          .harmless = kHarmlessOfBoth,
          .refused = kRefusedOfPictures,
          .advice = kAdviceOfPictures};
}

KeyTable TowerKeys() {
  return {.read = kReadOfTower,
          .harmless = kHarmlessAroundTowers,
          .refused = kRefusedOfPictures,
          .advice = kAdviceOfPictures};
}

KeyTable PreprocessorKeys() {
  return {.read = kReadOfPreprocessor,
          .harmless = kHarmlessOfPreprocessor,
          .refused = kRefusedOfPreprocessor,
          .advice = kAdviceOfPictures};
}

KeyTable RopeKeys() {
  return {.read = kRope,
          .harmless = {},
          .refused = {},
          .advice = "Medley has the rope types default and llama3, for a whole head and all layers alike"};
}

}  // namespace medley
