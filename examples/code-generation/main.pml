<prompt schema="code-generation">
  <user><unit/><map/><player/><game/><database/>Create a main entry for the game.</user>
</prompt>
