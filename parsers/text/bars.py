"""A progress bar as tqdm draws it, which ends no line: what a process prints next stands right behind its bracket."""

#  29%|██▉       | 9413/32393 [3:28:18<8:28:33,  1.33s/it, loss=3.23]Killed
BAR = r"[^\n]{0,80}?\d{1,3}%\|[^|\n]{0,300}\| [^\[\]\n]{1,40}\[[^\]\n]{1,300}\]"
