<prompt schema="trip-plan">
  <user><trip duration="from the first Monday of May to the day before the school holidays"/>Plan our days.</user>
</prompt>
