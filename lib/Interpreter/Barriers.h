//===- Barriers.h - what agents of one work tile wait for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers in shared memory (arrivals, bytes, phases), numbered barriers and
// ping-pongs. All of them hand on clocks: who waited knows what those who arrived
// had done, and what TMA had copied for that barrier.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_BARRIERS_H
#define FA_LIB_TARGET_INTERPRETER_BARRIERS_H

#include "Access.h"

namespace mlir::fa::interpreter {

class Barriers {
public:
  Barriers(unsigned agents, unsigned tmaClocks) : agents(agents), tmaClocks(tmaClocks) {}

  //===--- in shared memory -----------------------------------------------===//

  /// Adds the barriers of an op; returns the number of the first.
  unsigned add(tile::BarriersOp op);
  /// Return whether the phase of a parity is complete; join what came before it.
  bool wait(unsigned barrier, bool parity, Clock &clock) const;
  /// Arrive, with bytes that are to come. The agent's time goes on.
  Fault arrive(unsigned agent, Clock &clock, unsigned barrier, int64_t bytes, Operation *op,
               unsigned reader = 0);
  /// Return the access of TMA by which the copy lands.
  Access tmaAccess(const Copy &copy);
  /// Count the bytes of a copy that are there.
  Fault land(const Copy &copy, int64_t bytes);
  /// Describe what a phase lacks, for one who waits.
  std::string describe(unsigned barrier) const;
  /// Check that no phase has begun and is not complete.
  Fault checkComplete(Operation *&op) const;

  //===--- by number ------------------------------------------------------===//

  struct Arrival {
    Fault fault;
    /// Complete when the barrier has been so that many times.
    uint64_t completions = 0;
  };
  Arrival arriveNamed(unsigned agent, Clock &clock, int64_t id, int64_t threads, bool waits,
                      Operation *op);
  /// Return whether the barrier was completed after an arrival; join what came before.
  bool waitNamed(int64_t id, uint64_t completions, Clock &clock) const;
  std::string describeNamed(int64_t id) const;

  //===--- ping-pong ------------------------------------------------------===//

  /// Add a ping-pong of warpgroups.
  unsigned addPingpong(tile::PingpongOp op);
  /// Wait for the ping-pong; return false where another warpgroup comes first.
  bool take(unsigned pingpong, unsigned agent, int64_t group, Clock &clock, Operation *op,
            Fault &fault);
  Fault pass(unsigned pingpong, unsigned agent, Clock &clock, Operation *op);
  std::string describePingpong(unsigned pingpong) const;
  /// Check that the agent has handed on the ping-pong in the end.
  Fault checkPassed(unsigned agent, Operation *&op) const;

private:
  struct Barrier {
    tile::BarriersOp op;
    /// Arrivals of each phase; those that the running one still lacks, and bytes.
    int64_t all = 0, arrivals = 0, bytes = 0;
    uint64_t completed = 0;
    uint32_t landings = 0;
    Operation *lastExpect = nullptr;
    /// Who arrived in the running phase, and as which reader of a ring.
    SmallVector<std::pair<unsigned, unsigned>, 16> arrived;
    /// Hold what those knew who arrived in the running phase, and in those before.
    Clock running, done;
  };
  struct Named {
    int64_t threads = 0;
    Operation *first = nullptr;
    bool isWaitedFor = false;
    SmallVector<unsigned, 16> arrived;
    uint64_t completed = 0;
    Clock running, done;
  };
  struct Pingpong {
    int64_t groups = 1;
    /// Warpgroups that passed it on, and warps of the one that has it.
    uint64_t passed = 0;
    unsigned passing = 0;
    Clock clock = {};
    struct Taken {
      uint64_t count = 0;
      Operation *by = nullptr;
    };
    SmallVector<Taken, 16> taken = {};
  };

  Clock none() const { return Clock(agents + tmaClocks, 0); }
  void completePhase(Barrier &barrier);

  unsigned agents, tmaClocks;
  std::vector<Barrier> barriers;
  Named named[16];
  std::vector<Pingpong> pingpongs;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_BARRIERS_H
