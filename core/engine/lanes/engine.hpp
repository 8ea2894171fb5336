// The engine of many learners over one stream, and of choosing among them. While batches of rows run through the lanes,
// the next one is staged: scales do not depend on what is learned.
#pragma once

#include <mutex>

#include "engine/engine.hpp"
#include "engine/lanes/lane_pipeline.hpp"
#include "engine/lanes/lanes.hpp"
#include "engine/lanes/selection.hpp"

namespace unitless {

class LaneEngine : public Engine {
  public:
    LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    // A sweep's learning gives one number per rate (with classes, the number of the winning one); otherwise there is
    // one number, or one per class.
    std::size_t learn_width() const override;
    std::size_t predict_width() const override { return lanes_.classes() ? lanes_.class_count() : 1; }
    std::size_t class_count() const override { return lanes_.class_count(); }
    void add_classes(std::size_t count) override;

    void reserve(std::size_t slots, bool growing) override;
    void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) override;
    std::unique_ptr<Room> make_room() const override { return std::make_unique<LaneRoom>(); }
    void predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const override;
    void judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) override;
    std::size_t effort(std::size_t features) const override;
    void learn_one(const SparseInput& row, const Labels& labels, double* predictions, std::size_t number) override;
    void sift_rates() override;
    void finish() override;
    void settle() noexcept override;
    double scale(std::uint32_t slot) const override { return slot < lanes_.capacity() ? lanes_.scale()[slot] : 0.0; }
    void lower_scale(std::uint32_t slot, double scale) override { lanes_.lower_scale(slot, scale); }
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    std::size_t bytes() const override;

    bool merges() const override { return true; }
    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const override;
    void write(std::size_t first, std::size_t count, const SlotBlock& from) override;

  protected:
    EngineSetup setup_;
    const Kernel& kernel_;
    bool labels_are_signs_;  // errors can be counted
    Lanes lanes_;
    SlotPlaces places_;
    std::vector<std::uint32_t> row_places_;  // of the rows that are being staged
    std::mutex writing_;  // places are given, which several threads may do at once when models are merged
    Selection selection_;
    LanePipeline pipeline_;
    std::vector<LanePipeline::Part> parts_;
    std::size_t in_use_ = 0;  // slots

    LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, bool in_blocks);

    // Groups of octets that can run side by side: gives how many there are, with working memory for each; and runs one
    // over a batch, whose longest row has so many features.
    virtual std::size_t group(LaneBatch& batch, std::size_t longest, std::size_t threads);
    virtual void run(LaneBatch& batch, std::size_t group);
    // Parts of the scoring that can be done side by side; and one of them: the predictions of learning are given, and
    // the losses of a batch's rates counted. A part has some columns of the predictions: rates of a sweep, or heads.
    virtual void divide_scoring(std::size_t groups, std::size_t threads);
    virtual void score(LaneBatch& batch, std::size_t part);

    // Working memory of one who predicts.
    struct LaneRoom final : Room {
        LaneBatch batch;
        std::vector<std::uint32_t> row_places;
        std::vector<std::size_t> octets;  // those that run, rising
        std::vector<double> speaking;

        // What a lane has said of the batch's first row, its place being known; of the next rows it is `stride` apart.
        const double* said(std::size_t place) {
            const auto at = std::lower_bound(octets.begin(), octets.end(), place / 8) - octets.begin();
            return batch.predicted() + static_cast<std::size_t>(at) * 8 + place % 8;
        }
    };
    // The octets of the lanes that predictions are told by.
    virtual void find_told(std::vector<std::size_t>& octets) const;
    // A batch through the room's octets, the longest row having so many features.
    virtual void run_room(LaneRoom& room, std::size_t longest) const;
    // What a batch that was predicted gives: by the lanes that lead, or have lost least.
    virtual void tell(LaneRoom& room, double* predictions) const;
    // All lanes by the labels of a batch that all of them predicted.
    virtual void judge_batch(LaneRoom& room, const Labels& labels);

    bool counts_losses() const { return setup_.selecting != Selecting::none && chooses_rates(); }
    std::size_t diverged(const LaneBatch& batch) const;
    void note_in_play(LaneBatch& batch, std::size_t first, std::size_t end) const;  // lanes
    std::size_t best_rate() const;
    void look_at_octets(const LaneBatch& batch, std::size_t first, std::size_t octets) const;

  private:
    LaneRoom judging_;
    double negative_;             // the label of a class's lane for the rows of other classes
    std::size_t group_size_ = 1;  // octets that one thread runs side by side
    std::size_t judges_ = 0;      // parts of the scoring that find losses, one for each group, before the others
    std::vector<std::size_t> part_ends_;  // of parts of the scoring: the first column that is not its own
    std::size_t rows_end_ = 0;            // the number of the row after those that were learned last
    std::uint64_t look_at_ = 0;           // rates are to be looked at when these examples are learned; 0: not now
    LaneBatch alone_;                     // a row that comes alone

    void make_room(std::size_t slots, bool growing);
    SparseInput placed(const SparseInput& rows, const Labels& labels);
    std::size_t told_lane(std::size_t head, std::size_t best) const;
    void foresee(const SparseInput& rows, const Asking& asking, LaneRoom& room) const;
    void learn_some(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row);
    void start(LaneBatch& batch);
    Workers* helpers_for(std::size_t rows) const;
    void find_losses(LaneBatch& batch, std::size_t group) const;
    void score_sweep(LaneBatch& batch, std::size_t first, std::size_t end);
    void score_class_sweep(LaneBatch& batch, std::size_t first, std::size_t end);
    void score_heads(LaneBatch& batch, std::size_t first, std::size_t end);
    bool tells_simply() const;
    void predict_one(const SparseInput& row, const Asking& asking, double* predictions, LaneRoom& room) const;
    void run_alone(const Labels& labels, bool counting);
    void score_alone(const Labels& labels, bool counting, double* predictions);
    bool follows() const { return setup_.selecting == Selecting::follow && chooses_rates() && !keeps_rates(); }
    std::size_t wait_for_all();
};

}  // namespace unitless
