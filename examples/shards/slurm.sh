#!/usr/bin/env bash
# A prediction as a Slurm job array: each task does one shard; see README.md.
#   sbatch --array=1-40 slurm.sh FOLDER PREDICT-OPTIONS...
#SBATCH --job-name=slotmark
#SBATCH --cpus-per-task=1
set -euo pipefail
slotmark=${SLOTMARK:-slotmark}
folder=$1
shift
exec "$slotmark" predict "$@" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" -o "$folder"
