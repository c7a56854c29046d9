#!/usr/bin/env bash
# Two jobs that write to one name at once: one gets it, and neither loses what it measured.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 2
cat >same.sbatch <<END
#!/bin/bash
srun --mpi=pmix "$GPULOT" measure --device host --batch 1 --context 16 --width 64 --repeats 300 --output same.h5
END
for round in 1 2 3; do
  rm -rf same.h5*
  one=$(sbatch --parsable -N1 -n2 -w node1 -o "one$round.txt" same.sbatch)
  two=$(sbatch --parsable -N1 -n2 -w node2 -o "two$round.txt" same.sbatch)
  wait_job_end "$one" 40
  wait_job_end "$two" 40
  whole_archive "round $round: the name holds one whole run" same.h5 2
  same "round $round: of one of them" "$(archive_field same.h5 slurm_job_id | tr ' ' '\n' | sort -u | wc -l)" 1
  echo "# statuses $(job_field "$one" ExitCode) $(job_field "$two" ExitCode), files: $(echo same.h5*)"
  case "$(job_field "$one" ExitCode) $(job_field "$two" ExitCode)" in
  "0:0 0:0") not_ok "round $round: both jobs say they made the archive" ;;
  "0:0 2:0" | "2:0 0:0" | "0:0 3:0" | "3:0 0:0") ok "round $round: one job says that the name was taken" ;;
  *) not_ok "round $round: neither job got the name" "one$round.txt" ;;
  esac
done
finish
