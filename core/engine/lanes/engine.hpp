// The engine of many learners on one stream, with selection among them. Because scales do not depend on what is
// learned, the next batch is staged while earlier batches run through the lanes.
#pragma once

#include <mutex>

#include "engine/engine.hpp"
#include "engine/lanes/lanes.hpp"
#include "engine/lanes/pipeline.hpp"
#include "engine/lanes/selection.hpp"

namespace unitless {

class LaneEngine : public Engine,
                   public SlotAccess,
                   public ScaleAccess,
                   public RateSelection,
                   protected LanePipeline::Work {
  public:
    LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
        : LaneEngine(setup, kernel, clock, Placing::by_head) {}

    void reserve(std::size_t slots, bool growing) override;
    void learn(const Batch& batch, double* predictions) override;
    void finish() override;
    std::unique_ptr<EngineScratch> make_scratch() const override { return std::make_unique<Scratch>(); }
    void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                 EngineScratch& scratch) const override;
    void judge(const Batch& batch, const PredictOptions& options, double* predictions) override;
    void add_classes(std::size_t count) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    Description describe(std::size_t features) const override;
    Capabilities capabilities() override { return {.slots = this, .scales = this, .rates = this}; }

    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const override;
    void write(std::size_t first, std::size_t count, const SlotBlock& from) override;
    void written(std::size_t features) override { averaging_.plan(clock_.examples, features); }

    double scale(std::uint32_t slot) const override { return slot < lanes_.capacity() ? lanes_.scale()[slot] : 0.0; }
    void lower_scale(std::uint32_t slot, double scale) override { lanes_.lower_scale(slot, scale); }
    void prune_rates() override;
    void keep_leaders() override;

  protected:
    EngineSetup setup_;
    const Kernel& kernel_;
    Lanes lanes_;
    Selection selection_;

    LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, Placing placing);

    // ---- Steps that lanes which depend on each other (softmax/) override

    // Divides the octets into groups that can run in parallel in `threads` threads, with scratch for each group. Rows
    // have at most `longest` entries. Returns the number of groups.
    virtual std::size_t divide_run(LaneBatch& batch, std::size_t longest, std::size_t threads);
    void run(LaneBatch& batch, std::size_t group) noexcept override;
    // Divides the scoring into parts that can run in parallel. Scoring writes the predictions of learning, and counts
    // the losses of the rates.
    virtual std::vector<LanePipeline::Part> divide_scoring(std::size_t groups);
    void score(LaneBatch& batch, std::size_t part) noexcept override;
    std::size_t leave(const LaneBatch& batch) override;

    // Scratch of one predicting thread.
    struct Scratch final : EngineScratch {
        LaneBatch batch;
        std::vector<std::uint32_t> row_places;
        std::vector<std::size_t> octets;  // the octets that run, in increasing order
        std::vector<double> log_odds;

        // The first prediction of a lane at position `place`; its predictions for the following rows are `stride`
        // apart.
        const double* predictions_of(std::size_t place);
    };
    // The octets of the lanes that make predictions.
    virtual void find_leading_octets(std::vector<std::size_t>& octets) const;
    virtual void run_octets(Scratch& scratch) const;
    // Writes the predictions of the leading lanes, or of the lanes with the smallest loss.
    virtual void take_predictions(Scratch& scratch, double* predictions) const;
    // Counts the losses of all lanes on a batch that all of them predicted.
    virtual void judge_lanes(Scratch& scratch, const Labels& labels);

    bool counts_losses() const { return setup_.selecting != Selecting::none && chooses_rates(); }
    bool sweeps() const { return setup_.selecting == Selecting::sweep; }
    void note_in_play(LaneBatch& batch, std::size_t first, std::size_t end) const;
    std::size_t best_rate() const;
    void average_octets(const LaneBatch& batch, std::size_t first, std::size_t octets) const;
    void set_widths();

  private:
    bool labels_are_signs_;  // whether errors can be counted
    double negative_;        // the label of a class's lane for the rows of other classes
    SlotPlaces places_;
    std::vector<std::uint32_t> row_places_;  // for the rows that are being staged
    std::mutex writing_;                     // several threads write slots at once when models are merged
    std::size_t in_use_ = 0;                 // number of slots
    LanePipeline pipeline_;
    std::vector<LanePipeline::Part> parts_;
    std::vector<std::size_t> part_ends_;  // by part of the scoring: the end of its columns
    std::size_t group_size_ = 1;          // octets of a group
    std::size_t rows_end_ = 0;            // the number of the row after the last learned row
    std::uint64_t update_rates_at_ = 0;   // update rates after this many examples; 0: not now
    Scratch judging_;

    void make_space(std::size_t slots, bool growing);
    Batch placed(const Batch& batch);
    void learn_part(const Batch& batch, double* predictions);
    void start(LaneBatch& batch);
    Workers* helpers_for(std::size_t rows) const;
    std::size_t wait_for_all();
    bool follows() const { return setup_.selecting == Selecting::follow && chooses_rates() && !keeps_rates(); }
    Octet octet_of(std::size_t o, double* state, double* results, double* losses, std::size_t* diverged_at) const;
    void predict_lanes(const Batch& batch, const PredictOptions& options, Scratch& scratch) const;
    std::size_t leading_lane(std::size_t head, std::size_t best) const;
    void score_sweep(LaneBatch& batch, std::size_t first, std::size_t end);
    void score_class_sweep(LaneBatch& batch, std::size_t first, std::size_t end);
    void score_heads(LaneBatch& batch, std::size_t first, std::size_t end);
};

}  // namespace unitless
